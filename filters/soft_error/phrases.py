"""Phrases of error pages, gates and parked domains, in some thirty languages and ten scripts: a weak hint, never a verdict.

Phrases are in lower case, without words that differ from site to site, and long enough not to occur in ordinary
sentences. An article about errors contains them as well; therefore a probe decides.
"""

from __future__ import annotations

NOT_FOUND = (
    "page not found|not found|404 error|error 404|could not be found|cannot be found|can't be found|couldn't find",
    "no longer available",
    "no longer exists|does not exist|doesn't exist|has been removed|page is missing|nothing found|file not found",
    "no such page|page gone",
    "page introuvable|est introuvable|page non trouvée|n'existe pas|n'existe plus|n'a pas été trouvée",
    "nicht gefunden|existiert nicht|nicht vorhanden|nicht mehr verfügbar|nicht mehr vorhanden",
    "no encontrada|no encontrado|página no existe|ya no existe|no se ha encontrado|no existe|no se encuentra",
    "non trovata|non trovato|non esiste|pagina inesistente",
    "não encontrada|não encontrado|não existe|não foi encontrada|não foi encontrado|página inexistente",
    "niet gevonden|bestaat niet|bestaat niet meer|no s'ha trobat|ez da aurkitu",
    "sidan hittades inte|kunde inte hittas|finns inte|siden blev ikke fundet|ikke fundet|siden ble ikke funnet",
    "ikke funnet|finnes ikke",
    "sivua ei löydy|sivua ei löytynyt|ei löytynyt|lehte ei leitud|lapa nav atrasta|puslapis nerastas",
    "síða fannst ekki",
    "nie znaleziono|nie istnieje|nenalezena|nenalezeno|neexistuje|nenájdená|nem található|az oldal nem létezik",
    "nu a fost găsită|nu a fost gasita|nu există|stranica nije pronađena|nije pronađena|strani ni mogoče najti",
    "не найдена|не найдено|не существует|не знайдено|не існує|страницата не е намерена|не е намерена",
    "страница није пронађена",
    "δεν βρέθηκε|δεν υπάρχει|sayfa bulunamadı|bulunamadı",
    "غير موجودة|غير موجود|لم يتم العثور|صفحه یافت نشد|یافت نشد|لא נמצא|הדף לא נמצא|לא נמצא",
    "पृष्ठ नहीं मिला|नहीं मिला|পৃষ্ঠা পাওয়া যায়নি|பக்கம் கிடைக்கவில்லை|ไม่พบหน้า|không tìm thấy|không tồn tại",
    "tidak ditemukan|tidak dijumpai|halaman tidak ada|hindi nahanap|ukurasa haujapatikana",
    "見つかりません|存在しません|見つかりませんでした|页面不存在|找不到|未找到|不存在|頁面不存在|찾을 수 없습니다",
    "존재하지 않",
)
FORBIDDEN = (
    "access denied|permission denied|not authorized|not authorised|do not have permission|don't have permission",
    "403 forbidden|error 403",
    "accès refusé|accès interdit|zugriff verweigert|keine berechtigung|kein zugriff|acceso denegado|no tiene permiso",
    "accesso negato",
    "acesso negado|não tem permissão|toegang geweigerd|åtkomst nekad|adgang nægtet|ingen tilgang|pääsy estetty",
    "brak dostępu|odmowa dostępu",
    "přístup odepřen|hozzáférés megtagadva|acces interzis|доступ запрещен|доступ запрещён|нет прав|доступ заборонено",
    "απαγορεύεται η πρόσβαση",
    "erişim engellendi|تم رفض الوصول|دسترسی غیرمجاز|גישה נדחתה|प्रवेश निषेध|ปฏิเสธการเข้าถึง|truy cập bị từ chối",
    "akses ditolak",
    "アクセスが拒否|権限がありません|拒绝访问|没有权限|沒有權限|접근이 거부|권한이 없습니다",
)
SERVER_ERROR = (
    "service unavailable|temporarily unavailable|internal server error|server error|technical difficulties",
    "technical problem",
    "under maintenance|down for maintenance|scheduled maintenance|sorry, unavailable|try again later|error 500",
    "error 503|something went wrong",
    "service indisponible|momentanément indisponible|en maintenance|nicht erreichbar|wartungsarbeiten",
    "technischen störung|nicht verfügbar",
    "servicio no disponible|no está disponible|en mantenimiento|non disponibile|in manutenzione|indisponível",
    "em manutenção|fora do ar",
    "niet beschikbaar|onderhoud|inte tillgänglig|underhåll|utilgængelig|utilgjengelig|ei ole käytettävissä",
    "huoltokatko",
    "niedostępna|przerwa techniczna|nedostupná|údržba|karbantartás|indisponibil|mentenanță|недоступен",
    "технической ошибки|технические работы",
    "технічні роботи|недоступний|μη διαθέσιμη|συντήρηση|bakım|kullanılamıyor|غير متاحة|صيانة|در دست تعمیر|אינו זמין",
    "अनुपलब्ध|ปิดปรับปรุง",
    "bảo trì|tidak tersedia|sedang dalam perbaikan|利用できません|メンテナンス|无法访问|维护中|不可用|維護中",
    "이용할 수 없습니다|점검 중",
)
LOGIN = (
    "log in|login|sign in|you must log in|please log in|members only|forgot your password|forgotten your password",
    "se connecter|connexion|mot de passe oublié|anmelden|anmeldung|passwort vergessen|kennwort vergessen|einloggen",
    "iniciar sesión|acceder",
    "olvidó su contraseña|olvidaste tu contraseña|accedi|password dimenticata|entrar|fazer login|esqueceu a senha",
    "inloggen|logga in|log ind",
    "logg inn|kirjaudu|zaloguj się|přihlásit|prihlásiť|bejelentkezés|autentificare|войти|вход|забыли пароль|увійти",
    "вход в системата",
    "σύνδεση|giriş yap|تسجيل الدخول|ورود|התחברות|लॉग इन|เข้าสู่ระบบ|đăng nhập|masuk|ログイン|登录|登錄|登入|로그인",
)
CHALLENGE = (
    "just a moment|checking your browser|making sure you're not a bot|making sure you are not a bot",
    "verify you are human",
    "verifying you are human|are you a robot|are you human|not a robot|ddos protection by|ddos-guard",
    "attention required!",
    "enable javascript and cookies to continue|security check|unusual traffic|human verification|bot verification",
    "browser verification",
    "un instant|vérification de votre navigateur|einen moment|browser wird überprüft|un momento",
    "comprobando su navegador|um momento",
    "проверка браузера|не робот|ни секунды|请稍候|正在检查您的浏览器|人机验证|安全验证|少々お待ち",
    "ロボットではありません|잠시만 기다|로봇이 아닙니다",
)
CONSENT = (
    "before you continue|accept all cookies|we use cookies and|we value your privacy|consent to the use",
    "are you over 18|age verification",
    "confirm your age|avant de continuer|nous utilisons des cookies et|tout accepter|bevor sie fortfahren",
    "alle akzeptieren|wir verwenden cookies und",
    "antes de continuar|aceptar todo|aceitar tudo|prima di continuare|accetta tutto|voordat je verdergaat",
    "alles accepteren|innan du fortsätter",
    "zanim przejdziesz|zaakceptuj wszystko|прежде чем продолжить|принять все|続行する前に|すべて同意|继续之前",
    "全部接受|계속하기 전에",
)
PARKED = (
    "domain is for sale|domain may be for sale|may be for sale|buy this domain|this domain is parked|page is parked",
    "domain has expired",
    "this domain is registered|domain parking|related searches|sponsored listings|make an offer",
    "account has been suspended|account suspended",
    "default web page|welcome to nginx|apache2 ubuntu default page|site is under construction|future home of",
    "this site is coming soon",
    "domaine est à vendre|domain steht zum verkauf|domain zu verkaufen|diese domain kaufen|dominio en venta",
    "dominio è in vendita|domínio à venda",
    "домен продается|домен продаётся|срок регистрации домена|domeinnaam is te koop|domena na sprzedaż|域名出售",
    "此域名|ドメインは|도메인 판매",
)
SHELL = (
    "enable javascript to run this app|you need to enable javascript|please enable javascript|javascript is required",
    "requires javascript",
    "javascript est désactivé|activer javascript|javascript aktivieren|habilite javascript|active javascript",
    "abilita javascript|включите javascript",
    "javascriptを有効|请启用javascript|請啟用javascript|자바스크립트를 활성화|loading...|loading…|chargement",
    "wird geladen|cargando|загрузка|読み込み中|加载中",
)

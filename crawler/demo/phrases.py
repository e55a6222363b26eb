"""Texts of error pages and gates in ten languages: a title and a text, each with a place for the requested URL or host."""

from __future__ import annotations

Phrase = tuple[str, str]

NOT_FOUND: dict[str, Phrase] = {
    "en": ("Page not found", "Sorry, the page {url} could not be found. It may have been removed or renamed, or the link is wrong."),
    "fr": ("Page introuvable", "Désolé, la page {url} est introuvable. Elle a peut-être été supprimée ou déplacée. Vérifiez l'adresse."),
    "de": ("Seite nicht gefunden", "Die Seite {url} wurde leider nicht gefunden. Vielleicht wurde sie gelöscht oder umbenannt."),
    "ru": ("Страница не найдена", "К сожалению, страница {url} не найдена. Возможно, она была удалена или перемещена."),
    "ja": ("ページが見つかりません", "お探しのページ {url} は見つかりませんでした。削除されたか、名前が変更された可能性があります。"),
    "es": (
        "Página no encontrada",
        "Lo sentimos, la página {url} no existe. Puede que se haya eliminado o que la dirección sea incorrecta.",
    ),
    "zh": ("页面不存在", "抱歉，您访问的页面 {url} 不存在，可能已被删除或移动。请检查网址是否正确。"),
    "ko": ("페이지를 찾을 수 없습니다", "요청하신 페이지 {url} 를 찾을 수 없습니다. 삭제되었거나 주소가 변경되었습니다."),
    "ar": ("الصفحة غير موجودة", "عذرا، لم يتم العثور على الصفحة {url}. ربما تم حذفها أو نقلها إلى عنوان آخر."),
    "pt": ("Página não encontrada", "Desculpe, a página {url} não foi encontrada. Talvez tenha sido removida ou o endereço esteja errado."),
}
DENIED: dict[str, Phrase] = {
    "en": ("Access denied", "You do not have permission to view {url}. Please contact the administrator if you think this is a mistake."),
    "fr": ("Accès refusé", "Vous n'avez pas l'autorisation de consulter {url}. Adressez-vous à l'administrateur du site."),
    "de": ("Zugriff verweigert", "Sie haben keine Berechtigung, {url} anzusehen. Bitte wenden Sie sich an die Verwaltung."),
    "ru": ("Доступ запрещён", "У вас нет прав на просмотр страницы {url}. Обратитесь к администратору сайта."),
    "ja": ("アクセスが拒否されました", "{url} を表示する権限がありません。管理者にお問い合わせください。"),
    "es": ("Acceso denegado", "No tiene permiso para ver {url}. Póngase en contacto con el administrador del sitio."),
    "zh": ("拒绝访问", "您没有权限查看 {url}。如有疑问，请联系网站管理员。"),
    "ko": ("접근이 거부되었습니다", "{url} 페이지를 볼 수 있는 권한이 없습니다. 관리자에게 문의하십시오."),
    "ar": ("تم رفض الوصول", "ليس لديك إذن لعرض الصفحة {url}. يرجى الاتصال بمدير الموقع."),
    "pt": ("Acesso negado", "Você não tem permissão para ver {url}. Entre em contato com o administrador do site."),
}
UNAVAILABLE: dict[str, Phrase] = {
    "en": ("Sorry, unavailable", "We are sorry, {url} is temporarily unavailable because of a technical problem. Please try again later."),
    "fr": ("Service indisponible", "Désolé, {url} est momentanément indisponible à cause d'un problème technique. Réessayez plus tard."),
    "de": (
        "Vorübergehend nicht erreichbar",
        "{url} ist wegen einer technischen Störung zurzeit nicht erreichbar. Versuchen Sie es später.",
    ),
    "ru": ("Сервис недоступен", "Страница {url} временно недоступна из-за технической ошибки. Повторите попытку позже."),
    "ja": ("一時的に利用できません", "{url} は技術的な問題のため、現在ご利用いただけません。しばらくしてから再度お試しください。"),
    "es": ("Servicio no disponible", "Lo sentimos, {url} no está disponible por un problema técnico. Inténtelo de nuevo más tarde."),
    "zh": ("服务暂时不可用", "由于技术故障，{url} 暂时无法访问，请稍后再试。"),
    "ko": ("일시적으로 이용할 수 없습니다", "기술적인 문제로 {url} 을 현재 이용할 수 없습니다. 잠시 후 다시 시도하십시오."),
    "ar": ("الخدمة غير متاحة", "نأسف، الصفحة {url} غير متاحة مؤقتا بسبب خطأ تقني. يرجى المحاولة لاحقا."),
    "pt": ("Serviço indisponível", "Desculpe, {url} está indisponível por um problema técnico. Tente novamente mais tarde."),
}
LOGIN: dict[str, Phrase] = {
    "en": ("Log in", "You must log in to see this page. User name, password, remember me. Forgot your password? Register for free."),
    "de": ("Anmelden", "Sie müssen sich anmelden, um diese Seite zu sehen. Benutzername, Kennwort. Kennwort vergessen? Registrieren."),
}
CHALLENGE: dict[str, Phrase] = {
    "en": (
        "Just a moment...",
        "Checking your browser before you go on to {url}. This process is automatic. Please enable JavaScript and cookies to continue.",
    ),
}
CONSENT: dict[str, Phrase] = {
    "fr": (
        "Avant de continuer",
        "Nous utilisons des cookies et des données pour vous proposer nos services. Tout accepter, tout refuser, plus d'options.",
    ),
    "en": ("Before you continue", "We use cookies and data to deliver our services. Accept all, reject all, more options."),
}
PARKED: dict[str, Phrase] = {
    "en": (
        "This domain is for sale",
        "{url} may be for sale. Related searches: cheap flights, car insurance, online casino, new phones. This page is parked.",
    ),
}
SHELL = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>App</title>'
    '<script defer src="/static/js/main.4f1c2a.js"></script>'
    "</head><body><noscript>You need to enable JavaScript to run this app.</noscript>"
    '<div id="root"></div></body></html>\n'
)
ABOUT_ERRORS = (
    "The status 404 Not Found says that a page was not found; this article explains why servers send it and how to mend broken links.",
    "Error 403 means access denied, 503 means temporarily unavailable, and a good error page says so in its status, not only in its text.",
    "A page that could not be found may have been removed or renamed: keep redirects, and never answer 200 for a missing page.",
)


def phrase(phrases: dict[str, Phrase], lang: str) -> Phrase:
    """Return the phrase in a language, in English if there is none."""
    return phrases.get(lang, phrases["en"])

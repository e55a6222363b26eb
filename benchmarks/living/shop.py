"""django-oscar: a shop of some hundred goods with reviews, whose lists can be narrowed by every combination of facets.

Each list, of all goods or of a category, links to itself narrowed by type and by rating, page by page: hundreds of addresses that show the
same goods in other selections. Each review has a page, and each article has a form to write one. Putting goods into the basket is a form,
too. As oscar configures it, with Whoosh as its index.
"""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, django_settings, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_GOODS = 120
_SKIPPED = 400
_PACKAGES = ("django-oscar", "sorl-thumbnail", "whoosh", "Django<5.3", children.SERVER)
_VARIABLES = {"DJANGO_SETTINGS_MODULE": "market"}
_CATEGORIES = ("Manual > Server", "Manual > Client > Programs", "Notes", "Manual > Client > Libraries", "Notes > Old")
_DEFAULTS = """
from oscar.defaults import *
from oscar import INSTALLED_APPS as _APPS
"""
_SETTINGS = """
SITE_ID = 1
MEDIA_URL = "/media/"
MEDIA_ROOT = r"DIRECTORY/media"
INSTALLED_APPS = [*_APPS, "sorl.thumbnail"]
MIDDLEWARE.append("oscar.apps.basket.middleware.BasketMiddleware")
CONTEXT_PROCESSORS += [
    "oscar.apps.search.context_processors.search_form",
    "oscar.apps.checkout.context_processors.checkout",
    "oscar.apps.communication.notifications.context_processors.notifications",
    "oscar.core.context_processors.metadata",
]
AUTHENTICATION_BACKENDS = ["oscar.apps.customer.auth_backends.EmailBackend", "django.contrib.auth.backends.ModelBackend"]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": r"DIRECTORY/index"}}
HAYSTACK_SIGNAL_PROCESSOR = "haystack.signals.BaseSignalProcessor"
"""
_URLS = """
from django.apps import apps
from django.urls import include, path
urlpatterns = [path("", include(apps.get_app_config("oscar").urls[0]))]
"""
_FILL = """
import datetime, json, sys
import django
django.setup()
from django.contrib.auth import get_user_model
from oscar.core.loading import get_model
from oscar.apps.catalogue.categories import create_from_breadcrumbs
names = ("Product", "ProductClass", "ProductCategory", "ProductRecommendation")
Product, ProductClass, ProductCategory, Recommended = (get_model("catalogue", name) for name in names)
Partner, Stock = get_model("partner", "Partner"), get_model("partner", "StockRecord")
Review = get_model("reviews", "ProductReview")
names = ("ada", "grace", "alan", "edsger", "barbara")
people = [get_user_model().objects.create(username=name, email=f"{name}@example.org", first_name=name) for name in names]
kinds = [ProductClass.objects.create(name=name, requires_shipping=True, track_stock=False) for name in ("Book", "Paper", "Course")]
partner = Partner.objects.create(name="Press")
made = []
for n, (title, words, reviews, place) in enumerate(json.load(sys.stdin)):
    product = Product.objects.create(title=title, description=words, product_class=kinds[n % 3], upc=f"{1000 + n}")
    Stock.objects.create(product=product, partner=partner, partner_sku=f"{n}", price=5 + n * 7 % 90, num_in_stock=3)
    ProductCategory.objects.create(product=product, category=create_from_breadcrumbs(place))
    for m, (subject, body) in enumerate(reviews):
        Review.objects.create(product=product, user=people[m], title=subject, body=body, score=1 + (n + m) % 5)
    for other in made[-3::2]:
        Recommended.objects.create(primary=product, recommendation=other)
    made.append(product)
    product.update_rating()
"""


def build(place: Place) -> str:
    """Make the shop and its goods; return Apache's directives."""
    django_settings.write_project("market", place.directory, settings=_SETTINGS, urls=_URLS, defaults=_DEFAULTS)
    children.run(SHOP.name, place.directory, _VARIABLES, "-m", "django", "migrate", "--verbosity", "0")
    children.run(SHOP.name, place.directory, _VARIABLES, "-c", _FILL, words=json.dumps(_goods()))
    children.run(SHOP.name, place.directory, _VARIABLES, "-m", "django", "update_index", "--verbosity", "0")
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(SHOP.name, "django.core.wsgi:get_wsgi_application", place.directory, _VARIABLES)


def _goods() -> list[tuple[str, str, list[tuple[str, str]], str]]:
    """Return (title, description, reviews, category) of each article: blocks of a page of the manual."""
    found = []
    for n, name in enumerate(text.pages(_SKIPPED + N_GOODS)[_SKIPPED:]):
        words = [block.words for block in text.blocks_of(name)]
        description = "".join(f"<p>{_escaped(part)}</p>" for part in words[1:12])
        reviews = [(words[at][:60], words[at + 1]) for at in range(12, min(len(words) - 1, 12 + 2 * (n % 6)), 2)]
        found.append((words[0][:80], description, reviews, _CATEGORIES[n % len(_CATEGORIES)]))
    return found


def _escaped(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;")


def kind(url: str) -> str:
    """Return the view, and the facets that narrow it."""
    parts = urlsplit(url)
    fields = parse_qs(parts.query)
    facets = sorted(choice.partition(":")[0] for choice in fields.pop("selected_facets", []))
    view = "/".join(re.sub(r".*_\d+$", "N", step) for step in parts.path.strip("/").split("/")[:5])
    return f"{view} {'&'.join([*sorted(fields), *facets])}"


SHOP = Site(
    name="shop",
    about=f"django-oscar with {N_GOODS} goods, their reviews and lists in every combination of facets",
    address="127.0.8.15",
    hosts=("shop.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=_PACKAGES,
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
    settings=("robots.nofollow_links=true",),
)

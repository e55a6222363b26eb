"""The settings that both Django projects of this benchmark have, the calendar and the shop."""

from __future__ import annotations

from pathlib import Path

_COMMON = """
SECRET_KEY = "not for the network"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
ROOT_URLCONF = "PROJECT_urls"
STATIC_URL = "/static/"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
CONTEXT_PROCESSORS = [
    "django.template.context_processors.request",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "DIRS": [r"DIRECTORY/templates"],
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": CONTEXT_PROCESSORS},
}]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": r"DIRECTORY/PROJECT.db"}}
"""


def write_project(project: str, directory: Path, *, settings: str, urls: str, defaults: str = "") -> None:
    """Write the two modules of a Django project: its settings and its URLs.

    Args:
        project: Name of the module of settings; the module of URLs is called `PROJECT_urls`.
        directory: Where both are written, and where the project's database and its templates are.
        settings: Python that is run after the settings that both projects have. DIRECTORY stands for the directory.
        urls: Python that sets `urlpatterns`.
        defaults: Python that is run before them.
    """
    text = f"{defaults}{_COMMON}{settings}".replace("PROJECT", project).replace("DIRECTORY", str(directory))
    (directory / f"{project}.py").write_text(text)
    (directory / f"{project}_urls.py").write_text(urls)

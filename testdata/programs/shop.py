"""A small Django service in one file, for docs/images/python.sh: gunicorn shop:application"""

import json

from django.conf import settings

ORDER = "<table>{% for line in lines %}<tr><td>{{ line.name|upper }}</td><td>{{ line.price|floatformat:2 }}</td></tr>{% endfor %}</table>"

settings.configure(
    SECRET_KEY="-", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", {"order.html": ORDER})]}}])

from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.shortcuts import render
from django.urls import path


def price_of(article):
    return sum(ord(letter) for letter in article) * 1.07


def order(request, count):
    lines = [{"name": "article %d" % i, "price": price_of("article %d" % i)} for i in range(count)]
    return render(request, "order.html", {"lines": lines})


def stock(request):
    articles = {str(i): [i, price_of(str(i))] for i in range(300)}
    return JsonResponse(json.loads(json.dumps(articles, sort_keys=True)))


urlpatterns = [path("order/<int:count>", order), path("stock", stock)]
application = get_wsgi_application()

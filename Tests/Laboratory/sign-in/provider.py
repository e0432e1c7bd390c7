"""Runs Canaille, an identity provider, with two people, a group and the console as its client.

Usage: provider.py PORT CLIENT_ID CLIENT_SECRET REDIRECT_URI
"""

import os
import sys

port, client_id, client_secret, redirect_uri = sys.argv[1:]
# The provider is on this machine, without TLS.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "true"

import canaille  # noqa: E402
from canaille.app import models  # noqa: E402
from canaille.backends import Backend  # noqa: E402
from joserfc import jwk  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402

key = jwk.generate_key("RSA", 2048)
key.ensure_kid()
app = canaille.create_app(
    {
        "SECRET_KEY": os.urandom(16).hex(),
        "SERVER_NAME": f"127.0.0.1:{port}",
        "PREFERRED_URL_SCHEME": "http",
        "CANAILLE": {"DATABASE": "memory", "JAVASCRIPT": False},
        "CANAILLE_OIDC": {
            "ACTIVE_JWKS": [key.as_dict(private=True)],
            "USERINFO_MAPPING": {"SUB": "{{ user.user_name }}"},
        },
    }
)
with app.app_context():
    backend = Backend.instance
    with backend.session():
        people = []
        for name, password in [("jane", "jane's password"), ("bob", "bob's password")]:
            person = models.User(
                formatted_name=name.title(),
                family_name=name.title(),
                user_name=name,
                emails=[f"{name}@example.com"],
                password=password,
            )
            backend.save(person)
            people.append(person)
        backend.save(models.Group(members=people[:1], display_name="push-admins"))
        client = models.Client(
            client_id=client_id,
            client_name="Push tokens",
            contacts=["operator@example.com"],
            client_uri=redirect_uri,
            redirect_uris=[redirect_uri],
            client_secret=client_secret,
            grant_types=["authorization_code"],
            response_types=["code"],
            scope=["openid", "email", "profile", "groups"],
            token_endpoint_auth_method="client_secret_basic",
            id_token_signed_response_alg="RS256",
        )
        backend.save(client)
        client.audience = [client]
        backend.save(client)

make_server("127.0.0.1", int(port), app, threaded=True).serve_forever()

"""One interface to the two generated clients, so the same life runs with both. It creates the models and makes the calls."""

import importlib
import pathlib
import pkgutil
import re
import sys


def snake(name):
    """The name of an operation in Python: `getOpenAPI` is get_open_api with both generators."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class OpenAPIPythonClient:
    """The client of openapi-python-client: a function for each operation, which returns the parsed response or problem."""

    def __init__(self, directory, url):
        sys.path.insert(0, str(pathlib.Path(directory).parent))
        self.package, self.url = pathlib.Path(directory).name, url
        self.models = importlib.import_module(f"{self.package}.models")
        client = importlib.import_module(f"{self.package}.client")
        self.signed_in, self.anonymous = client.AuthenticatedClient, client.Client
        self.modules = {module.name.rsplit(".", 1)[1]: module.name for module in pkgutil.walk_packages(
            importlib.import_module(f"{self.package}.api").__path__, f"{self.package}.api.")}

    def make(self, model, **members):
        # The generator adds an underscore to reserved names of Python.
        return getattr(self.models, model)(**{"type_" if name == "type" else name: value for name, value in members.items()})

    def mapping(self, name, members):
        return getattr(self.models, name).from_dict(members)

    def alias_map(self, members):
        return self.mapping("AliasMap", members)

    def one_of(self, _name, value):
        return value

    @staticmethod
    def plain(value):
        return value.to_dict() if hasattr(value, "to_dict") else value

    def call(self, operation, key, body, parameters):
        client = self.signed_in(base_url=self.url, token=key) if key else self.anonymous(base_url=self.url)
        call = importlib.import_module(self.modules[snake(operation)]).sync_detailed
        answer = call(client=client, **parameters, **({} if body is None else {"body": body}))
        return int(answer.status_code), answer.parsed


class OpenAPIGenerator:
    """The client of openapi-generator for Python: a method for each operation, which raises problems."""

    def __init__(self, directory, url):
        sys.path.insert(0, str(directory))
        self.models, self.url = importlib.import_module("openapi_client"), url
        apis = importlib.import_module("openapi_client.api")
        self.apis = [getattr(apis, name) for name in dir(apis) if name.endswith("Api")]

    def make(self, model, **members):
        return getattr(self.models, model)(**members)

    def mapping(self, _name, members):
        return members

    def alias_map(self, members):
        return {kind: self.models.AliasValues(values) for kind, values in members.items()}

    def one_of(self, name, value):
        return getattr(self.models, name)(value)

    @staticmethod
    def plain(value):
        return value.to_dict() if hasattr(value, "to_dict") else value

    def call(self, operation, key, body, parameters):
        name = snake(operation) + "_with_http_info"
        api = next(api for api in self.apis if hasattr(api, name))
        # Otherwise the offset of a time in a query has no colon, which RFC 3339 requires.
        configuration = self.models.Configuration(host=self.url, access_token=key)
        configuration.datetime_format = "%Y-%m-%dT%H:%M:%S.%fZ"
        client = self.models.ApiClient(configuration)
        arguments = {**parameters, **({} if body is None else {snake(type(body).__name__): body})}
        try:
            answer = getattr(api(client), name)(**arguments)
        except self.models.ApiException as error:
            return error.status, error.data
        return answer.status_code, self.inner(answer.data)

    @staticmethod
    def inner(value):
        """Unwraps the value of a oneOf."""
        return getattr(value, "actual_instance", value)


KINDS = {"openapi-python-client": OpenAPIPythonClient, "openapi-generator": OpenAPIGenerator}

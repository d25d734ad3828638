"""The application: its routes, what stands before them, and what a request that fails is told."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from assay._version import __version__
from assay.collecting.following import Serving
from assay.collecting.protection import Protection
from assay.collecting.routes import common, lead, people
from assay.collecting.routes.common import Refused
from assay.study.definition import Study
from assay.study.store.connection import Store
from assay.study.store.intake import sync_study


def make_app(study: Study, store: Store, secret: str, base_url: str | None = None) -> FastAPI:
    """The page of a study as an ASGI application.

    Parameters
    ----------
    study : Study
        It is taken into the store.
    store : Store
    secret : str
        Signs links and cookies.
    base_url : str, optional
        Where people reach the page, if not where the server listens: behind a proxy.

    Raises
    ------
    StudyError
        Where the study cannot be put before people as it is.
    """
    sync_study(store, study)
    return app_of(store, study.folder, secret, base_url)


def app_of(store: Store, folder: Path, secret: str, base_url: str | None = None) -> FastAPI:
    """The page of the study that a store holds, see `make_app`."""
    app = FastAPI(title="assay", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.assay = Serving(store, folder, secret, base_url)
    app.add_middleware(Protection, host=base_url and urlsplit(base_url).netloc)
    for router in (common.router, people.router, lead.entrance, lead.router):
        app.include_router(router)
    app.exception_handler(Refused)(_refused)
    app.exception_handler(HTTPException)(_failed)
    app.exception_handler(RequestValidationError)(_malformed)
    return app


def _refused(request: Request, error: Refused) -> Response:
    return _say(request, error.status, error.title, error.text, error.error)


def _failed(request: Request, error: HTTPException) -> Response:
    title = {404: "There is no such page", 405: "This cannot be done here"}.get(error.status_code, "Sorry")
    return _say(request, error.status_code, title, str(error.detail), "unknown")


def _malformed(request: Request, error: RequestValidationError) -> Response:
    where = {".".join(str(p) for p in one["loc"][1:])[:80] for one in error.errors()}
    text = f"This request cannot be read: {', '.join(sorted(where)[:5]) or 'its body'}."
    return _say(request, 422, "This cannot be read", text, "malformed")


def _say(request: Request, status: int, title: str, text: str, error: str) -> Response:
    """What is wrong, in words: JSON for the page's script, a page for everybody else."""
    if request.url.path.startswith(("/answers", "/drafts", "/pages")):
        return JSONResponse({"error": error, "message": text}, status)
    serving: Serving = request.app.state.assay
    return serving.held.page("notice.html", status, title=title, text=text)

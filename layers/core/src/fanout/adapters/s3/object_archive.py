"""The archives that objects of a prefix lie in: looked at by a HEAD, restored by RestoreObject."""

from __future__ import annotations

from collections.abc import Mapping

from fanout.adapters.http.transport import Response
from fanout.adapters.s3.client.answers import WrongAnswer
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.source import REFUSALS, item_error
from fanout.facts import archives
from fanout.model.entry import Entry
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from fanout.ports.s3_services import ObjectLook
from fanout.request.parts.restore import Restore


class S3Archive:
    """An ``ObjectArchive`` over a prefix. Requests name the version that was looked at, where the bucket has any."""

    def __init__(self, client: S3Client, location: S3Location) -> None:
        self._client, self._location = client, location

    def look(self, entry: Entry) -> ObjectLook:
        """See ``ports.s3_services.ObjectArchive``; one HEAD, pinned to the listed ETag."""
        place = self._place(entry)
        try:
            found = place.head(if_match=entry.etag)
        except REFUSALS as error:
            raise item_error(place, error) from error
        return look_of(found.headers)

    def ask(self, entry: Entry, look: ObjectLook, restore: Restore) -> None:
        """See ``ports.s3_services.ObjectArchive``; objects of INTELLIGENT_TIERING take no days."""
        place = self._place(entry)
        days = "" if look.archive in archives.TIERS_OF_TIERING else f"<Days>{restore.days}</Days>"
        tier = f"<GlacierJobParameters><Tier>{restore.tier.value.capitalize()}</Tier></GlacierJobParameters>"
        try:
            restore_object(self._client, place.bucket, place.key, f"{days}{tier}", version=look.version)
        except (AccessDenied, InvalidRequest) as error:
            raise ItemError(Reason.NOT_RESTORED, str(error)) from error
        except REFUSALS as error:
            raise item_error(place, error) from error

    def _place(self, entry: Entry) -> ObjectPlace:
        return ObjectPlace(self._client, self._location.bucket, self._location.prefix + entry.path)


def restore_object(client: S3Client, bucket: str, key: str, request: str, *, version: str = "") -> None:
    """Have an archived object restored; one that is on its way, or in no archive, is no error.

    ``request`` is what the element RestoreRequest holds. Only a look at the object shows that it is restored.
    """
    body = f'<RestoreRequest xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{request}</RestoreRequest>'.encode()
    query = [("restore", "")] + ([("versionId", version)] if version else [])
    headers = {"content-type": "application/xml"}
    call = client.request("RestoreObject", "POST", bucket, key, query=query, headers=headers, body=body)
    call.read(_hold_restore)


def _hold_restore(response: Response) -> Response:
    """The answer to a restore request: taken (202), of a copy that is there (200), or on its way already (409, 403)."""
    if response.status not in (200, 202, 403, 409):  # of the last two, only those that ``faults`` lets through
        raise WrongAnswer(f"the status is {response.status}, 200 or 202 answers this")
    return response


def look_of(headers: Mapping[str, str]) -> ObjectLook:
    """Where a HEAD says that the object is.

    A restored copy is named by ``ongoing-request="false"``. An object on its way out of a tier of INTELLIGENT_TIERING
    stays in it until it is restored.
    """
    storage, restoring = headers.get("x-amz-storage-class", ""), headers.get("x-amz-restore", "")
    version = headers.get("x-amz-version-id", "")
    if 'ongoing-request="false"' in restoring:
        return ObjectLook(version=version)
    archive = headers.get("x-amz-archive-status") or (storage if storage != archives.TIERING else "")
    if archive not in archives.SECONDS:
        return ObjectLook(version=version)
    return ObjectLook(archive, asked='ongoing-request="true"' in restoring, version=version)

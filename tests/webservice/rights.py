"""Who may use which route of the web services: written by hand from what docs/api.md and docs/console.md promise.

A route that is not here fails the tests, and so does one that is here and nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple

from energycomm.webservice.roles import Role, Scope

ROLES = {
    "any": frozenset(Role),
    "readers": frozenset({Role.BACK_OFFICE, Role.CONSULTANT}),
    "consultant": frozenset({Role.CONSULTANT}),
    "back_office": frozenset({Role.BACK_OFFICE}),
    "operators": frozenset({Role.OPERATOR, Role.ADMINISTRATOR}),
    "resenders": frozenset({Role.CONSULTANT, Role.OPERATOR, Role.ADMINISTRATOR}),
    "administrator": frozenset({Role.ADMINISTRATOR}),
    "officer": frozenset({Role.OFFICER}),
    "workers": frozenset({Role.BACK_OFFICE, Role.CONSULTANT, Role.OPERATOR, Role.ADMINISTRATOR}),
}

PUBLIC = {
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/health"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/login"),
    ("POST", "/login"),
    ("GET", "/login/provider"),
    ("GET", "/login/callback"),
    ("POST", "/login/password"),
    ("GET", "/login/code"),
    ("POST", "/login/code"),
    ("GET", "/login/new-password"),
    ("POST", "/login/new-password"),
    ("GET", "/login/second-factor"),
    ("POST", "/login/second-factor"),
    ("POST", "/logout"),
    ("POST", "/logout/provider"),
    ("GET", "/static/console"),
}
"""What anybody may ask for: nothing of it shows anything of the store."""

WORDS = """
GET    /api/v1/me                                         any            read
GET    /api/v1/statistics                                 workers        read
GET    /api/v1/rules                                      workers        read
GET    /api/v1/rules/firing                               workers        read
GET    /api/v1/rules/{code}                               workers        read
GET    /api/v1/envelopes                                  workers        read
GET    /api/v1/envelopes/{number}                         workers        read

GET    /api/v1/find                                       readers        read
GET    /api/v1/messages                                   readers        read
GET    /api/v1/messages/{number}                          readers        read
GET    /api/v1/messages/{number}/causes                   readers        read
GET    /api/v1/messages/{number}/explanation              readers        read
GET    /api/v1/messages/{number}/kernel                   readers        read
GET    /api/v1/messages/{number}/raw                      readers        read
GET    /api/v1/access-points/overdue                      readers        read
GET    /api/v1/access-points/{identifier}                 readers        read
GET    /api/v1/access-points/{identifier}/timeline        readers        read
GET    /api/v1/access-points/{identifier}/{subject}       readers        read
GET    /api/v1/markets/{market}/{subject}                 readers        read
GET    /api/v1/exports/{subject}                          readers        read
GET    /api/v1/billing-periods                            readers        read
GET    /api/v1/invoices                                   readers        read
GET    /api/v1/invoices/{invoice}                         readers        read
GET    /api/v1/invoices/{invoice}/disputes                readers        read
GET    /api/v1/requests                                   readers        read
GET    /api/v1/requests/owed                              readers        read
GET    /api/v1/requests/{number}                          readers        read

POST   /api/v1/injections                                 readers        inject
POST   /api/v1/portfolio                                  readers        inject
POST   /api/v1/portfolio/comparison                       readers        read
POST   /api/v1/requests                                   back_office    request
GET    /api/v1/notifications                              back_office    notify
POST   /api/v1/notifications/pull                         back_office    notify
POST   /api/v1/notifications/acknowledge                  back_office    notify
GET    /api/v1/channels                                   workers        read
GET    /api/v1/alarms                                     operators      operate
GET    /api/v1/daemons                                    operators      operate
POST   /api/v1/channels/{name}/pause                      operators      operate
POST   /api/v1/channels/{name}/resume                     operators      operate
POST   /api/v1/channels/{name}/try                        operators      operate
POST   /api/v1/notifications/retry                        operators      operate
POST   /api/v1/requests/{number}/retry                    resenders      operate

GET    /api/v1/corrections/groups                         consultant     read
GET    /api/v1/corrections/proposals                      consultant     read
GET    /api/v1/corrections/scripts                        consultant     read
GET    /api/v1/corrections/scripts/{name}                 consultant     read
POST   /api/v1/corrections/scripts/{name}/preview         consultant     read
GET    /api/v1/corrections/campaigns                      consultant     read
GET    /api/v1/corrections/campaigns/{number}             consultant     read
GET    /api/v1/corrections/tickets                        consultant     read
GET    /api/v1/corrections/tickets/{number}               consultant     read
POST   /api/v1/corrections/campaigns                      consultant     correct
POST   /api/v1/corrections/campaigns/{number}/approve     consultant     correct
POST   /api/v1/corrections/campaigns/{number}/cancel      consultant     correct
POST   /api/v1/corrections/campaigns/{number}/run         consultant     correct
POST   /api/v1/corrections/campaigns/{number}/undo        consultant     correct
POST   /api/v1/corrections/delegations                    consultant     correct
GET    /api/v1/corrections/edits/{number}                 consultant     correct
POST   /api/v1/corrections/edits/{number}                 consultant     correct
POST   /api/v1/corrections/replays                        consultant     correct
PATCH  /api/v1/corrections/tickets/{number}               consultant     correct

POST   /api/v1/customers/find                             officer        erase
GET    /api/v1/customers/{market}/{identifier}/export     officer        erase
POST   /api/v1/customers/{market}/{identifier}/erasure    officer        erase
GET    /api/v1/erasures                                   officer        erase
GET    /api/v1/erasures/{number}                          officer        erase

GET    /customers                                         officer        erase
POST   /customers                                         officer        erase
GET    /customers/{market}/{identifier}                   officer        erase
GET    /customers/{market}/{identifier}/export            officer        erase
POST   /customers/{market}/{identifier}/plan              officer        erase
GET    /erasures                                          officer        erase
GET    /erasures/plans/{job_id}                           officer        erase
GET    /erasures/plans/{job_id}/progress                  officer        erase
POST   /erasures/plans/{job_id}/do                        officer        erase
GET    /erasures/{number}                                 officer        erase
GET    /erasures/{number}/progress                        officer        erase
GET    /erasures/{number}/evidence                        officer        erase

GET    /api/v1/audit                                      administrator  administer
GET    /api/v1/tokens                                     administrator  administer
POST   /api/v1/tokens                                     administrator  administer
DELETE /api/v1/tokens/{number}                            administrator  administer
POST   /api/v1/people/{name}/sign-out                     administrator  administer
GET    /api/v1/sessions                                   administrator  administer
DELETE /api/v1/sessions/{session}                         administrator  administer

GET    /account                                           any            read
POST   /account/password                                  any            read
GET    /account/second-factor                             any            read
POST   /account/second-factor                             any            read
POST   /account/second-factor/remove                      any            read
POST   /account/recovery-codes                            any            read
POST   /account/sessions/{session}/end                    any            read
POST   /account/sign-out-elsewhere                        any            read
GET    /people                                            administrator  administer
GET    /audit                                             administrator  administer
POST   /people/sessions/{session}/end                     administrator  administer
POST   /people/{name}/sign-out                            administrator  administer

GET    /                                                  any            read
GET    /preferences                                       any            read
GET    /rules                                             workers        read
GET    /envelopes                                         workers        read
GET    /envelopes/{number}                                workers        read
GET    /documentation                                     any            read
GET    /rules/{code}                                      workers        read
GET    /state                                             workers        read
GET    /channels                                          workers        read
POST   /channels/{name}/pause                             operators      operate
POST   /channels/{name}/resume                            operators      operate
POST   /channels/{name}/try                               operators      operate

GET    /find                                              readers        read
GET    /messages                                          readers        read
GET    /messages/{number}                                 readers        read
GET    /messages/{number}/raw                             readers        read
GET    /messages/{number}/explanation                     readers        read
GET    /api/v1/health                                     operators      operate
GET    /access-points                                     readers        read
GET    /access-points/overdue                             readers        read
GET    /access-points/{market}/{identifier}               readers        read
GET    /failures                                          readers        read
GET    /failures/analysis                                 readers        read
POST   /failures/analysis                                 readers        read
GET    /failures/code/{code}                              readers        read
GET    /failures/code/{code}/proposals                    readers        read
GET    /trials/{job_id}                                   readers        read
GET    /trials/{job_id}/progress                          readers        read
GET    /campaigns                                         readers        read
GET    /campaigns/{number}                                readers        read
GET    /campaigns/{number}/progress                       readers        read
GET    /quarantine                                        readers        read
GET    /portfolio                                         readers        read
POST   /portfolio                                         readers        read
POST   /portfolio/load                                    readers        inject
GET    /invoices                                          readers        read
GET    /invoices/{invoice}                                readers        read
GET    /requests                                          readers        read
GET    /requests/{number}                                 readers        read
GET    /tickets                                           readers        read
GET    /tickets/{number}                                  readers        read

GET    /messages/{number}/edit                            consultant     correct
POST   /views                                             readers        read
POST   /views/remove                                      readers        read
POST   /invoices/selected/file                            readers        read
POST   /envelopes/selected/file                           workers        read
POST   /{what}/selected/file                              readers        read
POST   /{what}/selected                                   consultant     correct
POST   /trials/{job_id}/do                                consultant     correct
POST   /messages/{number}/edit                            consultant     correct
POST   /messages/{number}/edit/check                      consultant     correct
POST   /messages/{number}/delegate                        consultant     correct
POST   /failures/code/{code}/proposals                    consultant     correct
POST   /failures/code/{code}/tickets                      consultant     correct
POST   /failures/scripts/{name}                           consultant     correct
POST   /trials/{job_id}/cancel                            consultant     correct
POST   /trials/{job_id}/run                               consultant     correct
POST   /campaigns/{number}/approve                        consultant     correct
POST   /campaigns/{number}/cancel                         consultant     correct
POST   /campaigns/{number}/resume                         consultant     correct
POST   /campaigns/{number}/undo                           consultant     correct
POST   /tickets/{number}                                  consultant     correct
"""


class Right(NamedTuple):
    """What a route needs.

    Attributes:
      roles: one of these.
      scope: this one.
    """

    roles: frozenset[Role]
    scope: Scope


def _read() -> dict[tuple[str, str], Right]:
    found = {}
    for line in WORDS.splitlines():
        if line:
            method, path, roles, scope = line.split()
            assert (method, path) not in found, f"twice: {line}"
            found[method, path] = Right(ROLES[roles], Scope(scope))
    return found


RIGHTS = _read()
"""Method and path -> what it needs."""

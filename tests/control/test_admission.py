"""Who may control a broker: callers on this host, or those with the token; never a page of another site."""

from tests.support.control import Client, with_door


def test_with_a_token_everything_but_health_needs_it() -> None:
    """401 without it and with another one."""

    async def test(door: Client) -> None:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic s3cret"}):
            answer = await door.ask("GET", "/clock", headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert (await door.ask("GET", "/clock", headers={"authorization": "Bearer s3cret"})).status_code == 200
        assert await door.get("/healthz") == {"status": "ok"}

    with_door(test, token="s3cret")


def test_pages_of_other_sites_are_refused() -> None:
    """A page in a browser on this host can send requests here; its origin, or the name that it made up, tells."""

    async def test(door: Client) -> None:
        for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}, {"origin": "null"}):
            problem = await door.problem("POST", "/reset", headers=headers)
            assert problem["status"] == 403
        for host in ("localhost:8092", "127.0.0.1:8092", "[::1]:8092"):
            headers = {"host": host, "origin": f"http://{host}"}
            assert (await door.ask("GET", "/clock", headers=headers)).status_code == 200

    with_door(test)

"""The page with a screen reader, a keyboard, on a narrow screen, in the dark."""

from typing import TYPE_CHECKING, Any

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from tests.support.chromium import ShownPage, violations
from tests.support.eventually import eventually
from tests.support.serving import controlled

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.page, pytest.mark.slow]

PLACES = {
    "overview": ("/overview", "svc-1", "[aria-label='Latest rebalances']"),
    "transactions": ("/transactions/copier", "Next:", ".detail"),
    "clients": ("/clients", "svc-1", "[aria-label='Connections']"),
    "groups": ("/groups/billing", "svc-1", ".members"),
    "timeline": ("/timeline?polls=1", "JoinGroup", ".entries"),
    "entry": ("/timeline?seq=3", "Entry 3", ".panel"),
    "topics": ("/topics/orders?when=0", "offset 0", "[aria-label='Result']"),
    "control": ("/control?group=billing", "coordinates", "[aria-label='Coordinator']"),
}

# Boxes whose content is wider than they are, and buttons that are not within the window. Ellipses are meant to cut.
BEYOND = """[...document.querySelectorAll("main, .scroll, .card, .card p, .card td, .list, button")]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 || each.getBoundingClientRect().right > innerWidth)
    .filter((each) => each.clientWidth > 0)
    .map((each) => `${each.tagName} ${each.className} ${each.textContent.trim().slice(0, 40)}`)"""


@pytest.fixture
def lived(shown: ShownPage, clients: ScriptedClients) -> ShownPage:
    """A broker that has something to show everywhere: a rebalance that is held, records, a fault, offsets."""
    client = clients.client("svc-1")
    client.join("billing", ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    client.commit({("orders", 0): 1, ("orders", 1): 5})
    shown.ask("POST", "/topics/orders/records", {"values": ["a", "b"], "key": "k", "headers": [["h", "v"]]})
    shown.ask("POST", "/faults", {"api": "OffsetCommit", "error": "NOT_COORDINATOR"})
    shown.ask("POST", "/groups/billing/hold_joins", {"until_members": 3})
    shown.ask("POST", "/groups/billing/rebalance", {"reason": "the test wants it"})
    shown.ask("POST", "/groups/other/commit", {"offsets": {"orders": {"0": 1}}})
    client.init_producer_id(transactional_id="copier")
    return shown


def go_to(shown: ShownPage, place: str) -> Any:
    """Open one of the places and wait until it has its content."""
    fragment, text, where = PLACES[place]
    page = shown.open(fragment)
    shown.sees(text, where)
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_anywhere(lived: ShownPage, theme: str) -> None:
    """Names, roles, order, contrast: in each view and each theme."""
    lived.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    for place in PLACES:
        page = go_to(lived, place)
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert violations(page) == [], place


def test_axe_finds_nothing_in_empty_views_and_dialogs(shown: ShownPage) -> None:
    """Before anything happened, with the keys shown, with a question asked."""
    for fragment, text in (
        ("/groups", "No groups yet"),
        ("/timeline", "No entries yet"),
        ("/groups/x", "There is"),
    ):
        page = shown.open(fragment)
        shown.sees(text)
        assert violations(page) == [], fragment
    page = shown.open("/control")
    shown.sees("Clock", "[aria-label='Clock']")
    page.keyboard.press("?")
    shown.sees("go to the filter", "dialog")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Reset the broker").click()
    shown.sees("and reset the broker?", "dialog")
    assert violations(page) == []


@pytest.mark.parametrize("width", [360, 768])
def test_narrow_screens_need_no_scrolling_sideways(lived: ShownPage, width: int) -> None:
    """Every view fits; of a list with a chosen thing a phone shows the thing, with a way back."""
    lived.page.set_viewport_size({"width": width, "height": 740})
    for place in PLACES:
        page = go_to(lived, place)
        beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0, place
        main = page.evaluate(
            "(() => { const m = document.querySelector('main'); return m.scrollWidth - m.clientWidth; })()"
        )
        assert main <= 0, place
        assert violations(page) == [], place
    if width == 360:
        go_to(lived, "groups").get_by_role("link", name="all groups").click()
        lived.sees("other", ".list")


@pytest.mark.parametrize(
    ("fragment", "label", "name"),
    [
        ("/groups", "Find groups", "q"),
        ("/topics", "Find topics", "q"),
        ("/topics/orders", "Find in keys and values", "search"),
        ("/timeline", "Filter by client", "client"),
    ],
)
def test_escape_clears_every_filter(lived: ShownPage, fragment: str, label: str, name: str) -> None:
    """The box and the address alike, in whatever view the filter is."""
    page = lived.open(fragment)
    box = page.get_by_label(label)
    box.fill("zzz")
    page.wait_for_function(f"location.hash.includes('{name}=zzz')")
    page.keyboard.press("Escape")
    page.wait_for_function("!location.hash.includes('zzz')")
    assert box.input_value() == ""


@pytest.mark.parametrize("width", [1280, 1440])
def test_long_names_push_nothing_out_of_sight(shown: ShownPage, clients: ScriptedClients, width: int) -> None:
    """On a desk no table has to be scrolled sideways, no text leaves its card, and each button is seen whole."""
    client_id, group_id, topic = "c" * 120, f"payments.{'x' * 120}", "t" * 200
    shown.ask("PUT", f"/topics/{topic}", {})
    client = clients.client(client_id)
    client.join(group_id, [topic])
    client.sync({client.member_id: {topic: [0]}})
    client.commit({(topic, 0): 5}, metadata="m" * 200)
    away = clients.client("svc-1")
    away.join("billing", ["orders"], session_timeout_ms=300_000)
    away.sync({away.member_id: {"orders": [0, 1]}})
    shown.ask("POST", "/groups/billing/hold_joins", {})
    shown.ask("POST", "/groups/billing/rebalance", {"reason": "the test wants it"})
    shown.ask("POST", "/clock/advance", {"seconds": 95, "timers": True})
    client.init_producer_id(transactional_id=f"copies-{'z' * 200}")
    client.add_partitions_to_txn([(topic, 0)])
    shown.ask("POST", f"/topics/{topic}/records", {"values": ['{"sku": "' + "x" * 200 + '"}'], "key": "k" * 90})
    shown.ask("POST", "/faults", {"api": "Heartbeat", "client_id": client_id, "error": "NOT_COORDINATOR"})
    places = {
        "/overview": "[aria-label='Latest rebalances']",
        f"/groups/{group_id}": ".members",
        "/groups/billing": ".members .doing",
        f"/topics/{topic}": ".records",
        f"/transactions/copies-{'z' * 200}": "[aria-label='Outcome']",
        "/clients": "[aria-label='Connections']",
        "/control": "[aria-label='Due next']",
    }
    page = shown.page
    page.set_viewport_size({"width": width, "height": 800})
    for fragment, where in places.items():
        shown.open(fragment)
        page.locator(where).first.wait_for()
        assert page.evaluate(BEYOND) == [], fragment


def test_the_chosen_view_is_in_sight_on_a_phone(shown: ShownPage) -> None:
    """Its link is the last of a row that is wider than the screen."""
    shown.page.set_viewport_size({"width": 390, "height": 800})
    page = shown.open("/control")
    shown.sees("Clock", "[aria-label='Clock']")
    left_px = "document.querySelector('nav [aria-current]').getBoundingClientRect().x"
    eventually(lambda: page.evaluate(left_px) < 330)


def test_everything_is_reached_with_the_keyboard(lived: ShownPage) -> None:
    """Digits go to the views, tab goes through what can be used, the first stop leads past the header."""
    page = lived.open("/groups")
    lived.sees("billing", ".list")
    views = ("Overview", "Groups", "Timeline", "Topics", "Transactions", "Clients", "Control")
    for key, name in [*enumerate(views, 1), (2, "Groups")]:
        page.keyboard.press(str(key))
        page.get_by_role("link", name=name, exact=True).and_(page.locator("[aria-current=page]")).wait_for()
    page.reload()
    lived.sees("billing", ".list")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "item":
            break
    page.keyboard.press("Enter")
    lived.sees("billing", ".head h2")


def test_the_theme_is_chosen_and_kept(browser: "Browser", broker_url: str) -> None:
    """As the system has it, or light, or dark, also after loading anew."""
    context = browser.new_context(color_scheme="dark")
    page = ShownPage(context, broker_url).open()
    page.get_by_role("button", name="Theme: auto").click()
    page.get_by_role("button", name="Theme: light").wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.reload()
    page.get_by_role("button", name="Theme: light").click()
    page.get_by_role("button", name="Theme: dark").wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()


def test_many_nodes_and_long_names_stay_within_a_narrow_screen(browser: "Browser") -> None:
    """The bootstrap address of three nodes is cut, an id without a space is broken, and axe finds nothing."""
    with controlled("--nodes", "3") as url:
        context = browser.new_context(viewport={"width": 360, "height": 740}, reduced_motion="reduce")
        shown = ShownPage(context, url)
        page = shown.open(f"/groups/{'x' * 240}")
        shown.sees("There is no group", ".chosen")
        shown.sees("bootstrap", "header")
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 740})
            for box in ("html", ".chosen"):
                assert page.locator(box).evaluate("box => box.scrollWidth <= box.clientWidth"), (width, box)
            assert violations(page) == [], width
        assert shown.complaints == []
        context.close()

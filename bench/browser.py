"""The page in a headless Chromium before 10,000 groups and a full journal: first paint, updates, memory.

`python -m bench.browser` prints a table for docs/reference/benchmarks.md.
"""

import statistics
import time
from typing import Any

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.support.chromium import ShownPage, chromium
from tests.support.serving import controlled

GROUPS, ENTRIES, UPDATES = 10_000, 20_000, 20
ROUNDS = 3


def main() -> None:
    """Measure, and print the rows."""
    with controlled("--topic", "orders:1") as url, chromium() as browser:
        host, _, port = ShownPage(browser.new_context(), url).bootstrap.partition(":")
        clients = ScriptedClients(TcpDriver(host, int(port)))
        fill(clients)
        print(f"| {GROUPS} groups, {ENTRIES} entries | median |\n|---|---|")
        print(f"| first paint, Groups | {median(browser, url, groups_painted, first_paint)} ms |")
        print(f"| Groups, loaded anew until the list is painted | {median(browser, url, groups_painted)} ms |")
        print(
            f"| Timeline, loaded anew until the last entries are painted | {median(browser, url, entries_painted)} ms |"
        )
        shown = ShownPage(browser.new_context(viewport={"width": 1360, "height": 860}), url)
        entries_painted(shown)
        shown.page.wait_for_function("async () => (await import('/page/core/journal.js')).journal.is_whole")
        print(f"| Timeline, whole journal read and painted | {since_navigation(shown)} ms |")
        print(f"| a change until Groups shows it | {update_ms(browser, url, clients)} ms |")
        print(f"| drawing Groups with a filter, script and layout | {drawing_ms(browser, url, '/groups?q=99')} ms |")
        print(f"| drawing the whole timeline, script and layout | {drawing_ms(browser, url, '/timeline', '0')} ms |")
        print(f"| JavaScript heap with all groups and entries | {heap_mib(shown):.1f} MiB |")
        print(f"| elements in the document | {shown.page.locator('*').count()} |")
        clients.close()


def fill(clients: ScriptedClients) -> None:
    """Commits of many groups, then heartbeats until the journal is full."""
    client = clients.client("loader")
    for number in range(GROUPS):
        client.commit({("orders", 0): 1}, group_id=f"group-{number:05d}")
    for number in range(ENTRIES):
        client.request("Heartbeat", 3, group_id=f"group-{number % GROUPS:05d}", generation_id=1, member_id="m")


def median(browser: Any, url: str, paint: Any, reading: Any = None) -> int:
    """The median time of some fresh pages."""
    times = []
    for _ in range(ROUNDS):
        context = browser.new_context(viewport={"width": 1360, "height": 860})
        shown = ShownPage(context, url)
        paint(shown)
        times.append((reading or since_navigation)(shown))
        context.close()
    return round(statistics.median(times))


def since_navigation(shown: ShownPage) -> int:
    """Milliseconds since the page was begun to be loaded."""
    return round(float(shown.page.evaluate("performance.now()")))


def first_paint(shown: ShownPage) -> int:
    """Milliseconds until anything of the page was painted."""
    code = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
    return round(float(shown.page.evaluate(code)))


def groups_painted(shown: ShownPage) -> None:
    """Wait until the list of groups has its rows."""
    shown.open("/groups").locator(".list a.item").nth(10).wait_for()


def entries_painted(shown: ShownPage) -> None:
    """Wait until the list of entries has its rows."""
    shown.open("/timeline?polls=1").locator(".entries a.entry").nth(5).wait_for()


def update_ms(browser: Any, url: str, clients: ScriptedClients) -> int:
    """The median time from a commit that makes a group until its row is painted."""
    shown = ShownPage(browser.new_context(), url)
    shown.open("/groups?q=new-").locator("text=No group passes the filter").wait_for()
    client, times = clients.client("loader"), []
    for number in range(UPDATES):
        began = time.perf_counter()
        client.commit({("orders", 0): 1}, group_id=f"new-{number}")
        shown.page.locator(f"a.item:has-text('new-{number}')").first.wait_for()
        times.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(times))


def drawing_ms(browser: Any, url: str, fragment: str, key: str = "") -> int:
    """The median time that one drawing takes, from the state to the layout."""
    shown = ShownPage(browser.new_context(viewport={"width": 1360, "height": 860}), url)
    page = shown.open(fragment)
    page.locator(".rows .row").first.wait_for()
    page.wait_for_function("async () => (await import('/page/core/groups.js')).groups.is_loaded")
    if key:
        page.wait_for_function("async () => (await import('/page/core/journal.js')).journal.is_whole")
        page.keyboard.press(key)
    code = """async (times) => {
        const { schedule } = await import('/page/core/store.js');
        const { groups } = await import('/page/core/groups.js');
        const { journal } = await import('/page/core/journal.js');
        const taken = [];
        for (let n = 0; n < times; n += 1) {
            groups.changes += 1;
            journal.lines = [...journal.lines];
            await new Promise((done) => {
                schedule();
                let began;
                requestAnimationFrame(() => {
                    document.body.offsetHeight;
                    taken.push(performance.now() - began);
                    done();
                });
                began = performance.now();
            });
        }
        return taken;
    }"""
    return round(float(statistics.median(page.evaluate(code, UPDATES))))


def heap_mib(shown: ShownPage) -> float:
    """What JavaScript holds after a collection."""
    session = shown.context.new_cdp_session(shown.page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    return float(used) / 1048576


if __name__ == "__main__":
    main()

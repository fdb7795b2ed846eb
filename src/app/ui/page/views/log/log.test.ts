import { describe, expect, test } from "vitest";
import type { LogPage } from "#app/ui/wire.ts";
import { formatLineRange, parseLineRange } from "./line-range.ts";
import { splitLinks } from "./links.ts";
import { errorPattern, hiddenOf, markOf, neighbour, sectionsOf } from "./log-marks.ts";
import { LogRows, spansAround, spansWithout } from "./log-rows.ts";
import { ErrorSearch, matchesOf } from "./log-search.ts";
import { chunkLines, LogStore } from "./log-store.ts";

/** A log of this many lines on a server that counts requests. */
function serverOf(total: number, textOf: (line: number) => string = (line) => `line ${line}`) {
  const requests: (readonly [number, number])[] = [];
  const fetch = async (from: number, count: number): Promise<LogPage> => {
    requests.push([from, count]);
    const first = from < 0 ? Math.max(0, total + from) : from;
    const length = Math.max(0, Math.min(count, total - first));
    const lines = Array.from({ length }, (_, index) => ({ text: textOf(first + index) }));
    return { from: first, lines, total, isOver: true };
  };
  return { fetch, requests };
}

describe("the store of lines", () => {
  test("opens at the end and asks for the rest only when it is looked at", async () => {
    const { fetch, requests } = serverOf(1_000_500);
    const store = new LogStore(fetch);
    await store.open();
    expect(store.total.value).toBe(1_000_500);
    expect(store.line(1_000_499)?.text).toBe("line 1000499");
    expect(store.line(5)).toBeUndefined();
    const before = requests.length;
    store.want({ first: 0, end: 10 });
    await expect.poll(() => store.line(5)?.text).toBe("line 5");
    expect(requests.slice(before)).toEqual([[0, chunkLines]]);
    expect(await store.wantAll()).toBe(false);
  });

  test("keeps no more than its share of a log that is read from end to end", async () => {
    const { fetch } = serverOf(60_000, () => "x".repeat(1000));
    const store = new LogStore(fetch);
    await store.open();
    for (let first = 0; first < 60_000; first += chunkLines) {
      store.want({ first, end: first + 10 });
      await expect.poll(() => store.line(first)).toBeDefined();
    }
    let kept = 0;
    store.forEachChunk((lines) => {
      kept += lines.length;
    });
    expect(kept).toBeLessThan(30_000);
    expect(store.line(59_999)).toBeDefined();
  });

  test("shows what is kept of a log whose first lines are gone", async () => {
    const { fetch } = serverOf(5000);
    const kept = 2300;
    const store = new LogStore(async (from, count) => {
      const page = await fetch(from, count);
      const gone = Math.min(page.lines.length, Math.max(0, kept - page.from));
      // The server goes on where lines are kept.
      return gone === 0 ? page : await fetch(Math.max(kept, page.from), count);
    });
    await store.open();
    expect(store.first.value).toBe(0);
    store.want({ first: 0, end: 10 });
    await expect.poll(() => store.first.value).toBe(kept);
    expect(store.line(kept)?.text).toBe("line 2300");
    expect(await store.wantAll()).toBe(true);
    expect(store.line(4999)?.text).toBe("line 4999");
  });

  test("takes lines that arrive, once each, with the style of the lines before", () => {
    const store = new LogStore(serverOf(0).fetch);
    store.take({ from: 0, lines: [{ text: "\x1b[31mone" }, { text: "two" }], total: 2, isOver: false });
    store.take({
      from: 1,
      lines: [{ text: "two" }, { text: "three\x1b[0m" }, { text: "four" }],
      total: 4,
      isOver: false,
    });
    expect([0, 1, 2, 3].map((line) => store.line(line)?.style)).toEqual([{}, { text: 1 }, { text: 1 }, {}]);
    expect(store.line(2)?.text).toBe("three\x1b[0m");
    expect(store.hasAll()).toBe(true);
  });

  test("a page that the server ends early is continued", async () => {
    const { fetch } = serverOf(2500);
    const store = new LogStore((from, count) => fetch(from, Math.min(count < 0 ? 0 : count, 300)));
    await store.open();
    expect(await store.wantAll()).toBe(true);
    expect([0, 1299, 2499].map((line) => store.line(line)?.text)).toEqual(["line 0", "line 1299", "line 2499"]);
  });

  test("a log that cannot be read says why", async () => {
    const store = new LogStore(() => Promise.reject(new Error("no such log")));
    await store.open();
    expect(store.load.value).toMatchObject({ is: "failed", thrown: { message: "no such log" } });
  });
});

test("search counts every line once, in what can be read of it", async () => {
  const store = new LogStore(serverOf(300, (line) => (line % 10 === 0 ? "\x1b[31mFa\x1b[0miled fail" : "fine")).fetch);
  await store.open();
  expect(matchesOf(store, "FAILED")).toEqual({
    count: 30,
    lines: Array.from({ length: 30 }, (_, index) => index * 10),
  });
  expect(matchesOf(store, "").count).toBe(0);
});

test("errors are found as programs report them, and not in ordinary text", () => {
  const failing = [
    "##[error]Process completed with exit code 1.",
    "::error file=a.ts::wrong",
    "ERROR: no space",
    "error: cannot find crate",
    "panic: runtime error",
    "error[E0308]: mismatched types",
    "Traceback (most recent call last):",
    "    at Object.<anonymous> (/a/b.js:10:5)",
    "sh: foo: command not found",
    "exit status 2",
    "--- FAIL: TestX",
  ];
  const fine = ["0 errors", "terror", "no failures", "Error-free", "looking at it", "exit code 0"];
  const store = new LogStore(serverOf(0).fetch);
  const lines = [...failing, ...fine].map((text) => ({ text }));
  store.take({ from: 0, lines, total: lines.length, isOver: true });
  const search = new ErrorSearch(errorPattern("") ?? /never/);
  const expected = failing.map((_, index) => index);
  expect(search.of(store)).toEqual(expected);
  store.take({ from: lines.length, lines: [{ text: "FATAL: late" }], total: lines.length + 1, isOver: true });
  expect(search.of(store)).toEqual([...expected, lines.length]);
  expect(errorPattern("(")).toBeUndefined();
});

test("the next error goes round", () => {
  expect([neighbour([3, 7], 3, 1), neighbour([3, 7], 7, 1), neighbour([3, 7], 3, -1), neighbour([], 3, 1)]).toEqual([
    7,
    3,
    7,
    undefined,
  ]);
});

test("sections end where the next begins, at their end mark, or with the log", () => {
  const texts = ["a", "::group::Install", "b", "##[endgroup]", "c", "##[group]Test", "d", "::group::Last", "e"];
  const marks = texts.flatMap((text, line) => {
    const mark = markOf(text);
    return mark === undefined ? [] : [{ line, mark }];
  });
  const sections = sectionsOf(marks, texts.length);
  expect(sections).toEqual([
    { line: 1, title: "Install", end: 4 },
    { line: 5, title: "Test", end: 7 },
    { line: 7, title: "Last", end: 9 },
  ]);
  expect(spansWithout(texts.length, sections.map(hiddenOf))).toEqual([
    { first: 0, end: 2 },
    { first: 4, end: 6 },
    { first: 7, end: 8 },
  ]);
});

test("rows know their lines when lines are hidden", () => {
  const rows = new LogRows(spansAround([5, 7, 20], 2, 21));
  expect(rows.count).toBe(7 + 3);
  expect([0, 6, 7, 9].map((row) => rows.lineOf(row))).toEqual([3, 9, 18, 20]);
  expect([3, 9, 12, 18, 0].map((line) => rows.rowOf(line))).toEqual([0, 6, 7, 7, 0]);
  expect([rows.isAfterGap(18), rows.isAfterGap(19)]).toEqual([true, false]);
  expect(new LogRows([]).rowOf(3)).toBe(0);
});

test("the selection stands in the address, in either order", () => {
  expect(parseLineRange("#L140-L120")).toEqual({ first: 120, last: 140 });
  expect(parseLineRange("#L7")).toEqual({ first: 7, last: 7 });
  expect([parseLineRange("#L0"), parseLineRange("#code=x"), parseLineRange("")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(formatLineRange({ first: 120, last: 140 })).toBe("#L120-L140");
  expect(formatLineRange({ first: 7, last: 7 })).toBe("#L7");
});

test("only addresses of the web become links, without the punctuation behind them", () => {
  expect(splitLinks("see https://a.example/x?y=1, or (http://b.example).")).toEqual([
    { text: "see " },
    { text: "https://a.example/x?y=1", href: "https://a.example/x?y=1" },
    { text: ", or (" },
    { text: "http://b.example", href: "http://b.example/" },
    { text: ")." },
  ]);
  expect(splitLinks("javascript://x data:text/html,1 https://")).toEqual([
    { text: "javascript://x data:text/html,1 https://" },
  ]);
});

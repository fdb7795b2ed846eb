import { describe, expect, test } from "vitest";
import { evaluate, expectFailures, expectTrue, expectValues } from "./testing/evaluate.ts";

describe("what is a URL", () => {
  test.each([
    "https://user:pass@example.com:80/path?query=val#fragment",
    "/absolute-path",
    "//host/path",
    "https://example.com",
    "https://example.com:",
    "https://[::1]:80/",
    "https://127.0.0.1",
    "mailto:a@b",
    "urn:a:b",
    "https://example.com/path with spaces/",
    "https://example.com/?a%zz=1",
    "https://example.com/ä",
    "https://ä.example/",
    "a+b-c.d:x",
    "https:///path",
  ])("%s is one", (text) => {
    expect(evaluate("isURL(text) && type(url(text)) != type(text)", { text })).toEqual({ ok: true, value: true });
  });

  test.each([
    "",
    "path",
    "../relative-path",
    "?query",
    "#fragment",
    "1http://x",
    "https://a:b:c/",
    "https://h:port/",
    "https://[::1/",
    "https://::1]/",
    "https://a b/",
    "https://h/%zz",
    "https://h/%2",
    "https://h/\u0000",
    "https://h/\n",
    "https://h/\u007f",
    " https://h/",
  ])("%j is none", (text) => {
    expect(evaluate("isURL(text)", { text })).toEqual({ ok: true, value: false });
    expect(evaluate("url(text)", { text })).toEqual({ ok: false, error: `${JSON.stringify(text)} is not a URL` });
  });
});

describe("parts", () => {
  expectValues([
    ["url('/path').getScheme()", ""],
    ["url('https://example.com/').getScheme()", "https"],
    ["url('HTTPS://example.com/').getScheme()", "https"],
    ["url('https://user@host:8080/a').getHost()", "host:8080"],
    ["url('https://example.com/').getHost()", "example.com"],
    ["url('https://[::1]:80/').getHost()", "[::1]:80"],
    ["url('https://[::1]/').getHost()", "[::1]"],
    ["url('/path').getHost()", ""],
    ["url('https://example.com:80/').getHostname()", "example.com"],
    ["url('https://[::1]:80/').getHostname()", "::1"],
    ["url('/path').getHostname()", ""],
    ["url('https://example.com:80/').getPort()", "80"],
    ["url('https://example.com:/').getPort()", ""],
    ["url('https://[::1]/').getPort()", ""],
    ["url('/path').getPort()", ""],
    ["url('https://example.com').getEscapedPath()", ""],
    ["url('https://example.com/path?x#y').getEscapedPath()", "/path"],
    ["url('https://example.com/a%20b').getEscapedPath()", "/a%20b"],
    ["url('https://example.com/path with spaces/').getEscapedPath()", "/path%20with%20spaces/"],
    ["url('https://example.com/ä%20!').getEscapedPath()", "/%C3%A4%20%21"],
    ["url('https://example.com/(a)!').getEscapedPath()", "/(a)!"],
    ["url('mailto:a@b').getEscapedPath()", ""],
    ["url('//host/p').getHost()", "host"],
    ["url('https://h/a%20b?q')", "https://h/a%20b?q"],
  ]);
  expectTrue(["url('https://h/') == url('https://h/') && url('https://h/') != url('https://h')"]);
});

describe("queries", () => {
  expectValues([
    ["url('https://h/path?k1=a&k2=b&k2=c').getQuery()", { k1: ["a"], k2: ["b", "c"] }],
    [
      "url('https://h/path?key with spaces=value with spaces').getQuery()",
      { "key with spaces": ["value with spaces"] },
    ],
    ["url('https://h/path?').getQuery()", {}],
    ["url('https://h/path').getQuery()", {}],
    ["url('/?a=b%26c&d=e+f&g=%2B').getQuery()", { a: ["b&c"], d: ["e f"], g: ["+"] }],
    ["url('/?a&b=&=c').getQuery()", { "": ["c"], a: [""], b: [""] }],
    ["url('/?a=b=c&&d').getQuery()", { a: ["b=c"], d: [""] }],
    ["url('/?a=%zz&b=1&c;d=2').getQuery()", { b: ["1"] }],
    ["url('/?a=%ff').getQuery()", {}],
    ["url('/?a=1#?b=2').getQuery()", { a: ["1"] }],
    ["url('/?constructor=1&__proto__=2').getQuery()['__proto__']", ["2"]],
  ]);
  expectFailures([["url('/?a=1').getQuery()['b']", "no such key: b"]]);

  test("a key that is repeated a hundred thousand times is read in linear time", () => {
    const text = `/?${"a=1&".repeat(100_000)}`;
    expect(evaluate("url(text).getQuery()['a'].size()", { text })).toEqual({ ok: true, value: 100_000 });
  });
});

import { expect, test } from "vitest";
import { guardBrowser, loopbackNames } from "./browser-guard.ts";

test.each<[Record<string, string>, number | undefined]>([
  [{ host: "localhost:6443" }, undefined],
  [{ host: "LOCALHOST" }, undefined],
  [{ host: "127.0.0.1:6443" }, undefined],
  [{ host: "[::1]:6443" }, undefined],
  [{ host: "evil.example" }, 421],
  [{ host: "localhost.evil.example" }, 421],
  [{ host: "localhost@evil.example" }, 421],
  [{ host: "" }, 421],
  [{}, 421],
  [{ host: "localhost:6443", origin: "https://localhost:6443" }, undefined],
  [{ host: "localhost:6443", origin: "http://localhost:6443" }, 403],
  [{ host: "localhost:6443", origin: "https://localhost:8443" }, 403],
  // Programs whose libraries for WebSockets make up an origin: pages can send no Authorization header there.
  [{ host: "localhost:6443", origin: "http://localhost:6443", upgrade: "websocket" }, 403],
  [
    { host: "localhost:6443", origin: "http://localhost:6443", upgrade: "websocket", authorization: "Bearer x" },
    undefined,
  ],
  [{ host: "localhost:6443", origin: "http://localhost:6443", authorization: "Bearer x" }, 403],
  [{ host: "localhost:6443", origin: "http://localhost:8080", upgrade: "websocket", authorization: "Bearer x" }, 403],
  [{ host: "localhost:6443", origin: "https://evil.example" }, 403],
  [{ host: "localhost:6443", origin: "null" }, 403],
  [{ host: "localhost:6443", "sec-fetch-site": "cross-site" }, 403],
  [{ host: "localhost:6443", "sec-fetch-site": "same-site" }, 403],
  [{ host: "localhost:6443", "sec-fetch-site": "same-origin" }, undefined],
  [{ host: "localhost:6443", "sec-fetch-site": "none" }, undefined],
])("%j gets %j", (headers, code) => {
  expect(guardBrowser(headers, loopbackNames)?.code).toBe(code);
});

test("the body is a Status with the code", () => {
  expect(guardBrowser({ host: "evil.example" }, loopbackNames)?.status).toMatchObject({
    kind: "Status",
    status: "Failure",
    code: 421,
  });
});

test.each<[Record<string, string>, number, string]>([
  [{ host: "evil.example:1" }, 421, 'this server does not answer for the host "evil.example:1"'],
  [{ host: "a\u0007b" }, 421, 'this server does not answer for the host "a\\u0007b"'],
  [
    { host: "localhost", origin: "https://evil.example" },
    403,
    'requests from the origin "https://evil.example" are not allowed',
  ],
  [{ host: "localhost", "sec-fetch-site": "cross-site" }, 403, "requests from other sites are not allowed"],
])("%j is told %d: %s", (headers, code, message) => {
  expect(guardBrowser(headers, loopbackNames)?.status).toMatchObject({ code, message, reason: "Forbidden" });
});

test("a server answers for the names it was given, with any port and in any case", () => {
  const names = [...loopbackNames, "build.example", "[2001:db8::1]"];
  for (const host of ["build.example", "Build.Example:8443", "[2001:DB8::1]:1"])
    expect(guardBrowser({ host }, names)).toBeUndefined();
  for (const host of [
    "build.example.evil",
    "xbuild.example",
    "build.example:port",
    "build.example:",
    "2001:db8::1",
    "[2001:db8::1",
  ])
    expect(guardBrowser({ host }, names)?.code).toBe(421);
});

test("an origin is judged only after the host", () => {
  expect(guardBrowser({ host: "evil.example", origin: "https://evil.example" }, loopbackNames)?.code).toBe(421);
});

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

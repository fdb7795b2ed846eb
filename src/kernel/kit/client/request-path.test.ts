import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Job, Namespace, Pod } from "#kernel/model/index.ts";
import { listQuery, logQuery, objectPath, watchQuery, withQuery, writeQuery } from "./request-path.ts";

const query = (of: Parameters<typeof withQuery>[1]): string => withQuery("", of);

describe("paths of objects", () => {
  test.each([
    [{ type: Pod, namespace: "n", name: "p" }, undefined, "/api/v1/namespaces/n/pods/p"],
    [{ type: Pod, namespace: "n", name: "p" }, "log", "/api/v1/namespaces/n/pods/p/log"],
    [{ type: Job, namespace: "n", name: "j" }, "status", "/apis/batch/v1/namespaces/n/jobs/j/status"],
    [{ type: Namespace, name: "n" }, undefined, "/api/v1/namespaces/n"],
    [{ type: Pod, namespace: "n", name: "../x?y#z" }, undefined, "/api/v1/namespaces/n/pods/..%2Fx%3Fy%23z"],
  ])("%#: %o", (ref, subresource, path) => {
    expect(objectPath(ref, subresource)).toBe(path);
  });

  test("no name leads out of its collection", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (name) => {
        const path = objectPath({ type: Pod, namespace: "n", name });
        expect(path.slice("/api/v1/namespaces/n/pods/".length)).not.toMatch(/[/?#]/);
      }),
    );
  });
});

describe("queries", () => {
  test.each([
    [{}, ""],
    [{ a: undefined }, ""],
    [{ a: "", b: false, c: 0 }, "?a=&b=false&c=0"],
    [{ a: "x y&z=1", b: "ä" }, "?a=x%20y%26z%3D1&b=%C3%A4"],
  ])("of %j: %s", (values, text) => {
    expect(query(values)).toBe(text);
  });

  test("give back what they were made of", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-zA-Z]{1,8}$/), fc.string()), (values) => {
        const read = new URLSearchParams(query(values).slice(1));
        expect(Object.fromEntries(read)).toEqual({ ...values });
      }),
    );
  });

  test.each([
    [{}, ""],
    [{ labelSelector: "", fieldSelector: "", continue: "" }, ""],
    [{ labelSelector: "a in (b,c)", limit: 0 }, "?labelSelector=a%20in%20(b%2Cc)&limit=0"],
    [
      { resourceVersion: "0", resourceVersionMatch: "NotOlderThan" },
      "?resourceVersion=0&resourceVersionMatch=NotOlderThan",
    ],
    [{ namespace: "n", signal: new AbortController().signal }, ""],
  ] as const)("of a list %#: %o", (options, text) => {
    expect(query(listQuery(options))).toBe(text);
  });

  const { signal } = new AbortController();
  test.each([
    [{}, "?watch=1"],
    [{ timeout: 0 }, "?watch=1&timeoutSeconds=1"],
    [{ timeout: 1001 }, "?watch=1&timeoutSeconds=2"],
    [{ allowBookmarks: true, resourceVersion: "7" }, "?watch=1&resourceVersion=7&allowWatchBookmarks=true"],
    [
      { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" },
      "?watch=1&resourceVersionMatch=NotOlderThan&sendInitialEvents=true",
    ],
  ] as const)("of a watch %#: %o", (options, text) => {
    expect(query(watchQuery({ ...options, signal }))).toBe(text);
  });

  test.each([
    [{}, ""],
    [{ dryRun: false }, ""],
    [
      { dryRun: true, fieldManager: "me", fieldValidation: "Strict" },
      "?dryRun=All&fieldManager=me&fieldValidation=Strict",
    ],
  ] as const)("of a write %#: %o", (options, text) => {
    expect(query(writeQuery(options))).toBe(text);
  });

  test("of a log keep zero, which is a number of lines", () => {
    expect(query(logQuery({ tailLines: 0, follow: true, container: "c" }))).toBe(
      "?container=c&follow=true&tailLines=0",
    );
  });
});

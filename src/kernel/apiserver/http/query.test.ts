import { describe, expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import {
  checkTimeout,
  deleteRequest,
  forceOf,
  isWatch,
  listRequest,
  logRequest,
  wantsIndent,
  watchRequest,
  writeRequest,
} from "./query.ts";

const query = (text: string) => new URLSearchParams(text);

describe("query parameters", () => {
  test("that are absent or empty are left out", () => {
    expect(listRequest(query(""), "default")).toEqual({ namespace: "default" });
    expect(listRequest(query("limit=&sendInitialEvents="), "default")).toEqual({ namespace: "default" });
    expect(writeRequest(query(""), [], undefined)).toEqual({
      dryRun: false,
      duplicateFields: [],
      program: "unknown",
    });
    expect(logRequest(query(""))).toEqual({});
  });

  test.each([
    ["All", undefined],
    ["Stdout", "stdout"],
    ["Stderr", "stderr"],
  ])("of a log with stream %s", (word, stream) => {
    expect(logRequest(query(`stream=${word}`)).stream).toBe(stream);
  });

  test("of a list", () => {
    expect(
      listRequest(query("limit=5&continue=x&labelSelector=a%3Db&resourceVersion=7&resourceVersionMatch=Exact"), "n"),
    ).toEqual({
      namespace: "n",
      limit: 5,
      continue: "x",
      labelSelector: "a=b",
      resourceVersion: "7",
      resourceVersionMatch: "Exact",
    });
  });

  test("of a watch, which has no pages", () => {
    expect(
      watchRequest(query("limit=5&continue=x&allowWatchBookmarks=true&timeoutSeconds=9&sendInitialEvents=false"), ""),
    ).toEqual({
      namespace: "",
      allowBookmarks: true,
      timeoutSeconds: 9,
      sendInitialEvents: false,
    });
  });

  test.each([
    ["watch=true", true],
    ["watch=1", true],
    ["watch=false", false],
    ["watch=0", false],
    ["watch", false],
    ["", false],
  ])("%j watches: %j", (text, expected) => {
    expect(isWatch(query(text))).toBe(expected);
  });

  test("of a write", () => {
    expect(
      writeRequest(query("dryRun=All&fieldValidation=Strict&fieldManager=me"), ["spec.x"], "kubectl/v1.33.0 (linux)"),
    ).toEqual({
      dryRun: true,
      fieldValidation: "Strict",
      fieldManager: "me",
      duplicateFields: ["spec.x"],
      program: "kubectl",
    });
    expect(() => writeRequest(query("fieldManager=a%07"), [], "x")).toThrow(/printable/);
    expect(() => writeRequest(query("dryRun=All&dryRun=None"), [], "x")).toThrow(/dryRun/);
  });

  test.each([
    ["kubectl/v1.33.0 (linux/amd64) kubernetes/60a317e", "kubectl"],
    ["curl", "curl"],
    ["", "unknown"],
    ["/1.0", "unknown"],
    ["a\u0007b\u200b/1", "ab"],
    ["x".repeat(200), "x".repeat(128)],
  ])("the User-Agent %j is the program %j", (userAgent, program) => {
    expect(writeRequest(query(""), [], userAgent).program).toBe(program);
  });

  test("force is for apply alone", () => {
    expect(forceOf(query("force=true"), true)).toBe(true);
    expect(forceOf(query("force=false"), true)).toBe(false);
    expect(forceOf(query(""), true)).toBe(false);
    expect(forceOf(query(""), false)).toBe(false);
    expect(() => forceOf(query("force=true"), false)).toThrow(
      "force: Forbidden: may not be specified for non-apply patch",
    );
    expect(() => forceOf(query("force=maybe"), true)).toThrow(/true or false/);
  });
});

describe("DeleteOptions", () => {
  test("come from the body, and from the query where the body says nothing", () => {
    const body = {
      kind: "DeleteOptions",
      apiVersion: "v1",
      gracePeriodSeconds: 0,
      preconditions: { uid: "u" },
      dryRun: ["All"],
    };
    expect(deleteRequest(query("gracePeriodSeconds=9&propagationPolicy=Background"), body)).toEqual({
      gracePeriodSeconds: 0,
      propagationPolicy: "Background",
      preconditions: { uid: "u" },
      dryRun: true,
    });
    expect(deleteRequest(query("orphanDependents=false&dryRun=All"), undefined)).toEqual({
      orphanDependents: false,
      preconditions: {},
      dryRun: true,
    });
    expect(
      deleteRequest(query(""), {
        propagationPolicy: null,
        gracePeriodSeconds: null,
        orphanDependents: null,
        preconditions: null,
      }),
    ).toEqual({
      preconditions: {},
      dryRun: false,
    });
  });

  test.each<[string, JsonValue]>([
    ["a list", []],
    ["a text", "x"],
    ["another kind", { kind: "Pod" }],
    ["a policy that is no text", { propagationPolicy: 7 }],
    ["a flag that is no flag", { orphanDependents: "no" }],
    ["a period of half a second", { gracePeriodSeconds: 0.5 }],
    ["a dry run that is no list", { dryRun: "All" }],
    ["a uid that is a number", { preconditions: { uid: 7 } }],
  ])("%s is 400", (_what, body) => {
    expect(() => deleteRequest(query(""), body)).toThrow(expect.objectContaining({ code: 400 }));
  });

  test("an unknown dry run is 422 in the body, too", () => {
    expect(() => deleteRequest(query(""), { dryRun: ["Some"] })).toThrow(expect.objectContaining({ code: 422 }));
  });
});

test.each([
  ["pretty=true", "kubectl/v1.33.0", true],
  ["pretty=1", undefined, true],
  ["pretty=false", "curl/8.5.0", false],
  ["pretty=maybe", "curl/8.5.0", false],
  ["pretty=", "curl/8.5.0", true],
  ["", "Wget/1.21", true],
  ["", "Mozilla/5.0", false],
  ["", undefined, false],
])("?%s of %s is laid out: %s", (text, userAgent, expected) => {
  expect(wantsIndent(query(text), userAgent)).toBe(expected);
});

test("a timeout is a duration", () => {
  for (const good of ["", "timeout=", "timeout=30s", "timeout=0", "timeout=1m30s"]) checkTimeout(query(good));
  expect(() => checkTimeout(query("timeout=30"))).toThrow(/invalid timeout specified in the request URL: .*"30"/);
});

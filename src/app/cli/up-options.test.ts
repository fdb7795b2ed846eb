import { describe, expect, test } from "vitest";
import { UsageError } from "#kernel/command/index.ts";
import { parseListenAddress, parseServerName, parseSize } from "./up-options.ts";

describe("an address to listen on", () => {
  test.each<[string, object]>([
    ["192.0.2.7", { host: "192.0.2.7" }],
    ["192.0.2.7:7443", { host: "192.0.2.7", port: 7443 }],
    ["0.0.0.0:0", { host: "0.0.0.0", port: 0 }],
    ["127.0.0.2:65535", { host: "127.0.0.2", port: 65535 }],
    ["::", { host: "::" }],
    ["[::]", { host: "::" }],
    ["[::]:6443", { host: "::", port: 6443 }],
    ["2001:DB8:0:0::0001", { host: "2001:db8::1" }],
    ["[2001:db8::1]:1", { host: "2001:db8::1", port: 1 }],
  ])("%s", (text, expected) => {
    expect(parseListenAddress(text)).toEqual(expected);
  });

  test.each([
    "",
    ":6443",
    "localhost",
    "build.example:6443",
    "https://192.0.2.7",
    "192.0.2",
    "192.0.2.07",
    "192.0.2.7:",
    "192.0.2.7:x",
    "192.0.2.7:-1",
    "[192.0.2.7]",
    "[::1",
    "::1]:6443",
    "fe80::1%eth0",
    "::ffff:192.0.2.7",
    "0.0.0.0/0",
  ])("%j is none, and no name is looked up", (text) => {
    expect(() => parseListenAddress(text)).toThrow(UsageError);
    expect(() => parseListenAddress(text)).toThrow(`found ${JSON.stringify(text)}`);
  });

  test("a port that there is not is refused", () => {
    expect(() => parseListenAddress("192.0.2.7:65536")).toThrow("expected a port from 0 to 65535, found 65536");
  });
});

describe("a name of the server", () => {
  test.each([
    ["build.example", "build.example"],
    ["Build.EXAMPLE", "build.example"],
    ["box", "box"],
    ["3com.example", "3com.example"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["203.0.113.9", "203.0.113.9"],
    ["[2001:DB8::0:1]", "2001:db8::1"],
    ["2001:db8::1", "2001:db8::1"],
    ["a".repeat(63), "a".repeat(63)],
  ])("%s", (text, expected) => {
    expect(parseServerName(text)).toBe(expected);
  });

  test.each([
    "",
    "build.example:6443",
    "https://build.example",
    "build.example/",
    "*.example",
    "build..example",
    "build.example.",
    "-build",
    "build-",
    "bücher.example",
    "a b",
    "a_b",
    "203.0.113",
    "1",
    "fe80::1%eth0",
    "a".repeat(64),
    `${"a.".repeat(127)}aa`,
  ])("%j is none", (text) => {
    expect(() => parseServerName(text)).toThrow(UsageError);
    expect(() => parseServerName(text)).toThrow(`found ${JSON.stringify(text)}`);
  });
});

test.each([
  ["1", 1],
  ["1k", 1000],
  ["512Mi", 512 * 1024 ** 2],
  ["1.5Gi", 1.5 * 1024 ** 3],
])("%s is a size", (text, bytes) => {
  expect(parseSize("--max-artifact-size", text)).toBe(bytes);
});

test.each(["", "0", "-1", "500m", "many", "1Gib", "9e99"])("%j is none", (text) => {
  expect(() => parseSize("--max-artifact-size", text)).toThrow(UsageError);
});

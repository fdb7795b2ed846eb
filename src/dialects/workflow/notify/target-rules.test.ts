import { expect, test } from "vitest";
import { isPublicAddress, readTarget } from "./target-rules.ts";

test.each(["1.1.1.1", "8.8.8.8", "172.32.0.1", "193.0.0.1", "2606:4700:4700::1111", "2a00:1450:4001::1"])(
  "%s is an address of the internet",
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

test.each([
  ["this machine", "127.0.0.1"],
  ["this machine", "127.255.0.9"],
  ["this machine", "0.0.0.0"],
  ["this machine", "::1"],
  ["this machine", "::"],
  ["a private net", "10.1.2.3"],
  ["a private net", "172.16.0.1"],
  ["a private net", "192.168.1.1"],
  ["a private net", "fd00::1"],
  ["a carrier's net", "100.64.0.1"],
  ["the metadata of a cloud", "169.254.169.254"],
  ["a link", "fe80::1"],
  ["IPv4 in IPv6", "::ffff:127.0.0.1"],
  ["IPv4 in IPv6", "::127.0.0.1"],
  ["IPv4 behind NAT64", "64:ff9b::7f00:1"],
  ["IPv4 in 6to4", "2002:7f00:1::"],
  ["Teredo", "2001:0:1::1"],
  ["many", "224.0.0.1"],
  ["everybody", "255.255.255.255"],
  ["nothing", "no address"],
])("%s is none: %s", (_what, address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  ["file:///etc/passwd", "expected a URL of http or https"],
  ["gopher://example.com", "expected a URL of http or https"],
  ["hooks.example.com/x", "expected a URL"],
  ["https://me:pw@example.com", "a URL with a password belongs into a Secret, in its path"],
])("%s is no target, and is not repeated", (text, error) => {
  expect(readTarget(text)).toEqual({ ok: false, error });
});

// How a URL is written is no way around the rules: the parser of URLs makes one spelling of them.
test.each(["http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://[::ffff:7f00:1]/"])(
  "%s names an address that is not public",
  (text) => {
    const read = readTarget(text);
    if (!read.ok) throw new Error(read.error);
    expect(isPublicAddress(read.value.hostname.replaceAll(/[[\]]/g, ""))).toBe(false);
  },
);

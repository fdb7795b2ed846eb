import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { generatedName, isPathSegment, labelRule, labelValueRule, qualifiedNameRule, subdomainRule } from "./names.ts";

const tooLong = (most: number) => `must be no more than ${most} characters`;
const dnsWords = 'must consist of lower case letters, digits, "-" and ".", and start and end with a letter or digit';
const labelWords = 'must consist of lower case letters, digits and "-", and start and end with a letter or digit';
const nameWords =
  'the name must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit';
const prefixWords = "the part before the slash must be a lower case DNS name of at most 253 characters";
const valueWords =
  'must be empty or consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit';

describe("names of objects", () => {
  test.each<[string, string | undefined]>([
    ["a", undefined],
    ["a-b.c-d", undefined],
    ["0", undefined],
    ["a--b", undefined],
    ["a".repeat(253), undefined],
    ["a".repeat(254), tooLong(253)],
    ["", dnsWords],
    ["-a", dnsWords],
    ["a-", dnsWords],
    ["a..b", dnsWords],
    ["a.-b", dnsWords],
    [".a", dnsWords],
    ["a.", dnsWords],
    ["A", dnsWords],
    ["a_b", dnsWords],
    ["a/b", dnsWords],
    ["..", dnsWords],
    ["ä", dnsWords],
    ["a\n", dnsWords],
    ["a\u0000b", dnsWords],
  ])("%j as a DNS name: %s", (name, problem) => {
    expect(subdomainRule(name)).toBe(problem);
  });

  test.each<[string, string | undefined]>([
    ["a-1", undefined],
    ["1", undefined],
    ["a".repeat(63), undefined],
    ["a".repeat(64), tooLong(63)],
    ["a.b", labelWords],
    ["a-", labelWords],
    ["", labelWords],
  ])("%j as a DNS label: %s", (name, problem) => {
    expect(labelRule(name)).toBe(problem);
  });

  test.each([
    [".", false],
    ["..", false],
    ["...", true],
    ["a/b", false],
    ["a%b", false],
    ["system:node", true],
    ["A_b", true],
  ])("%j as a path segment: %j", (name, valid) => {
    expect(isPathSegment(name)).toBe(valid);
  });

  test("what is a label is a DNS name, and both are path segments", () => {
    const text = fc.stringMatching(/^[a-zA-Z0-9._/%-]{0,70}$/);
    fc.assert(
      fc.property(text, (name) => {
        if (labelRule(name) === undefined) expect(subdomainRule(name)).toBeUndefined();
        if (subdomainRule(name) === undefined) expect(isPathSegment(name)).toBe(true);
      }),
    );
  });
});

describe("labels", () => {
  test.each<[string, string | undefined]>([
    ["a", undefined],
    ["A_b.c-d", undefined],
    ["example.org/a", undefined],
    [`${"p".repeat(253)}/a`, undefined],
    [`a/${"n".repeat(63)}`, undefined],
    ["a/b/c", nameWords],
    ["/a", prefixWords],
    ["Example.org/a", prefixWords],
    [`${"p".repeat(254)}/a`, prefixWords],
    ["a/", nameWords],
    ["", nameWords],
    ["a b", nameWords],
    ["_a", nameWords],
    ["a".repeat(64), "the name must be no more than 63 characters"],
  ])("%j as a key: %s", (name, problem) => {
    expect(qualifiedNameRule(name)).toBe(problem);
  });

  test.each<[string, string | undefined]>([
    ["", undefined],
    ["A.b_c-1", undefined],
    ["a".repeat(63), undefined],
    ["a".repeat(64), tooLong(63)],
    ["-a", valueWords],
    ["a.", valueWords],
    ["a/b", valueWords],
    [" ", valueWords],
  ])("%j as a value: %s", (value, problem) => {
    expect(labelValueRule(value)).toBe(problem);
  });
});

describe("generated names", () => {
  test("keep 58 characters of their base and get 5 more", () => {
    let next = 0;
    const name = generatedName("x".repeat(80), () => (next++ % 27) / 27);
    expect(name).toBe(`${"x".repeat(58)}bcdfg`);
  });

  test("of a legal base are legal, whatever the chance", () => {
    const base = fc
      .stringMatching(/^[a-z]([a-z0-9.-]{0,70}[a-z0-9])?[-]?$/)
      .filter((text) => !/[.-][.]|[.][.-]/.test(text));
    fc.assert(
      fc.property(base, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (text, chance) => {
        expect(subdomainRule(generatedName(text, () => chance))).toBeUndefined();
      }),
    );
  });
});

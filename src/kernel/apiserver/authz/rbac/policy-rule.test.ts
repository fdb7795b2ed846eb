import { describe, expect, test } from "vitest";
import { allows, compileRules, type PolicyRule, policyRule, ruleJson, rulesOf, uncovered } from "./policy-rule.ts";

const rule = (verbs: string, groups: string, resources: string, names = ""): PolicyRule => {
  const list = (text: string) => (text === "" ? [] : text.split(" "));
  const apiGroups = groups.split(" ").map((group) => (group === "core" ? "" : group));
  return policyRule({ verbs: list(verbs), apiGroups, resources: list(resources), resourceNames: list(names) });
};

describe("a rule allows", () => {
  test.each<[PolicyRule, string, string, string, string | undefined, boolean]>([
    [rule("get", "core", "pods"), "get", "", "pods", "p", true],
    [rule("get", "core", "pods"), "list", "", "pods", undefined, false],
    [rule("get", "core", "pods"), "get", "batch", "pods", "p", false],
    [rule("get", "core", "pods"), "get", "", "pods/log", "p", false],
    [rule("get", "core", "pods/log"), "get", "", "pods", "p", false],
    [rule("get", "core", "pods/log"), "get", "", "pods/log", "p", true],
    [rule("get", "*", "*/scale"), "get", "apps", "deployments/scale", "d", true],
    [rule("get", "*", "*/scale"), "get", "apps", "deployments", "d", false],
    [rule("*", "*", "*"), "approve", "x.example", "things/y", undefined, true],
    [rule("get", "core", "pods", "a b"), "get", "", "pods", "b", true],
    [rule("get", "core", "pods", "a b"), "get", "", "pods", "c", false],
    [rule("create", "core", "pods", "a"), "create", "", "pods", undefined, false],
    [rule("get", "core", "pods", "*"), "get", "", "pods", "b", false],
  ])("%j: %s %s/%s %j is %s", (given, verb, group, resource, name, allowed) => {
    const access = { verb, group, resource, ...(name === undefined ? {} : { name }) };
    expect(allows(compileRules([given]), access)).toBe(allowed);
  });

  test.each([
    ["/metrics", "/metrics", true],
    ["/metrics", "/metrics/x", false],
    ["/api/*", "/api/v1", true],
    ["/api/*", "/api", false],
    ["*", "/anything", true],
    ["/*", "/", true],
  ])("path %s for %s is %s", (url, path, allowed) => {
    const compiled = compileRules([policyRule({ verbs: ["get"], nonResourceURLs: [url] })]);
    expect(allows(compiled, { verb: "get", group: "", resource: "", path })).toBe(allowed);
    expect(allows(compiled, { verb: "post", group: "", resource: "", path })).toBe(false);
  });

  test("paths and resources are different things", () => {
    const everything = compileRules([rule("*", "*", "*")]);
    expect(allows(everything, { verb: "get", group: "", resource: "", path: "/metrics" })).toBe(false);
    const paths = compileRules([policyRule({ verbs: ["*"], nonResourceURLs: ["*"] })]);
    expect(allows(paths, { verb: "get", group: "", resource: "pods" })).toBe(false);
  });
});

describe("what is not covered", () => {
  test.each<[readonly PolicyRule[], PolicyRule, readonly PolicyRule[]]>([
    [[rule("get list", "core", "pods secrets")], rule("get", "core", "pods"), []],
    [[rule("get", "core", "pods")], rule("get list", "core", "pods"), [rule("list", "core", "pods")]],
    [[rule("get", "core", "pods"), rule("list", "core", "pods")], rule("get list", "core", "pods"), []],
    [[rule("*", "*", "*")], rule("escalate", "any.example", "x/y", "n"), []],
    [[rule("get", "core", "pods")], rule("*", "core", "pods"), [rule("*", "core", "pods")]],
    [[rule("get", "core", "pods", "a")], rule("get", "core", "pods"), [rule("get", "core", "pods")]],
    [[rule("get", "core", "pods", "a")], rule("get", "core", "pods", "a b"), [rule("get", "core", "pods", "b")]],
    [[rule("get", "core", "pods")], rule("get", "core", "pods", "a"), []],
    [[rule("get", "core", "*/log")], rule("get", "core", "pods/log"), []],
    [[rule("get", "core", "pods")], rule("get", "core", "pods/log"), [rule("get", "core", "pods/log")]],
  ])("%j gives of %j all but %j", (owned, wanted, lacking) => {
    expect(uncovered(owned, [wanted])).toEqual(lacking);
  });

  test("is the whole rule when nobody can compare its parts, unless one rule covers it whole", () => {
    const words = Array.from({ length: 2000 }, (_, n) => `w${n}`).join(" ");
    const vast = rule(words, "core", words, words);
    expect(uncovered([rule("get", "core", "pods")], [vast])).toEqual([vast]);
    expect(uncovered([rule(words, "core", "*")], [vast])).toEqual([]);
    expect(uncovered([rule("get", "core", "pods")], [vast, rule("get", "core", "pods")])).toEqual([vast]);
  });

  test("goes for paths as well", () => {
    const wanted = policyRule({ verbs: ["get"], nonResourceURLs: ["/metrics", "/api/v1", "/api/*"] });
    const owned = policyRule({ verbs: ["get"], nonResourceURLs: ["/api/*"] });
    expect(uncovered([owned], [wanted])).toEqual([policyRule({ verbs: ["get"], nonResourceURLs: ["/metrics"] })]);
    expect(uncovered([rule("*", "*", "*")], [wanted])).toHaveLength(3);
  });
});

test("rules are read from whatever an object has, and written without what is empty", () => {
  const [first, ...others] = rulesOf({ rules: [{ verbs: ["get", 7], resources: null }, "x", 3] });
  expect(first).toEqual(policyRule({ verbs: ["get"] }));
  expect(others).toEqual([]);
  expect(ruleJson(rule("get", "core", "pods"))).toEqual({ verbs: ["get"], apiGroups: [""], resources: ["pods"] });
  expect(rulesOf({})).toEqual([]);
});

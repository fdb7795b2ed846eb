import { getOrAdd, type JsonObject, listAt, objectsAt } from "#lib/base/index.ts";
import type { Access } from "../identity.ts";

// rbac/v1 PolicyRule. `*` matches everything in every list but `resourceNames`.
//
//   resources: pods          the objects, not their subresources
//              pods/log      one subresource
//              */scale       one subresource of every kind
//   resourceNames: []        every name, and requests without one (create, list)
//   nonResourceURLs: /api/*  a path, or all that begin with what stands before the star

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export const policyRule = (rule: Partial<PolicyRule>): PolicyRule => ({
  verbs: rule.verbs ?? [],
  apiGroups: rule.apiGroups ?? [],
  resources: rule.resources ?? [],
  resourceNames: rule.resourceNames ?? [],
  nonResourceURLs: rule.nonResourceURLs ?? [],
});

/** The rules of a Role or ClusterRole; list items that are no texts are ignored. */
export const rulesOf = (role: JsonObject): readonly PolicyRule[] =>
  objectsAt(role, "rules").map((rule) => ({
    verbs: texts(rule, "verbs"),
    apiGroups: texts(rule, "apiGroups"),
    resources: texts(rule, "resources"),
    resourceNames: texts(rule, "resourceNames"),
    nonResourceURLs: texts(rule, "nonResourceURLs"),
  }));

const texts = (rule: JsonObject, member: string): readonly string[] =>
  listAt(rule, member).filter((value) => typeof value === "string");

export const ruleJson = (rule: PolicyRule): JsonObject =>
  Object.fromEntries(Object.entries(rule).filter(([, list]: readonly [string, readonly string[]]) => list.length > 0));

/** Rules prepared for questions, once per state of a role. */
export interface CompiledRules {
  readonly rules: readonly PolicyRule[];
  /** By verb, including `*`. */
  readonly byVerb: ReadonlyMap<string, readonly Matcher[]>;
}

/** Undefined sets match everything. */
interface Matcher {
  readonly groups: ReadonlySet<string> | undefined;
  readonly resources: ReadonlySet<string> | undefined;
  readonly names: ReadonlySet<string> | undefined;
  readonly urls: readonly string[];
}

export function compileRules(rules: readonly PolicyRule[]): CompiledRules {
  const byVerb = new Map<string, Matcher[]>();
  for (const rule of rules) {
    const matcher: Matcher = {
      groups: anyOrSet(rule.apiGroups),
      resources: anyOrSet(rule.resources),
      names: rule.resourceNames.length === 0 ? undefined : new Set(rule.resourceNames),
      urls: rule.nonResourceURLs,
    };
    for (const verb of new Set(rule.verbs)) {
      getOrAdd(byVerb, verb, () => []).push(matcher);
    }
  }
  return { rules, byVerb };
}

const anyOrSet = (values: readonly string[]): ReadonlySet<string> | undefined =>
  values.includes("*") ? undefined : new Set(values);

/** Whether a rule allows it, in whatever namespace: that depends on its binding. */
export const allows = (compiled: CompiledRules, access: Access): boolean =>
  anyMatches(compiled.byVerb.get(access.verb), access) || anyMatches(compiled.byVerb.get("*"), access);

function anyMatches(matchers: readonly Matcher[] | undefined, access: Access): boolean {
  if (matchers === undefined) return false;
  for (const matcher of matchers) {
    if (access.path === undefined ? matchesResource(matcher, access) : matchesPath(matcher.urls, access.path))
      return true;
  }
  return false;
}

function matchesResource({ groups, resources, names }: Matcher, { group, resource, name }: Access): boolean {
  // Empty sets of rules about paths match nothing.
  if (groups !== undefined && !groups.has(group)) return false;
  if (!hasResource(resources, resource)) return false;
  return names === undefined || (name !== undefined && names.has(name));
}

function matchesPath(urls: readonly string[], path: string): boolean {
  for (const url of urls) {
    if (url === "*" || url === path) return true;
    if (url.endsWith("*") && path.startsWith(url.slice(0, -1))) return true;
  }
  return false;
}

/** About 50 ms; four lists of a thousand words would be a million million. */
const mostComparisons = 300_000;

/** The parts of `wanted` that no single rule covers. A rule with too many parts to compare is returned whole. */
export function uncovered(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  const owners = owned.map(ownerOf);
  let left = mostComparisons;
  return wanted.flatMap((rule) => {
    if (owners.some((owner) => coversAll(owner, rule))) return [];
    left -= countParts(rule) * Math.max(1, owners.length);
    if (left < 0) return [rule];
    return [...partsOf(rule)].filter((part) => !owners.some((owner) => coversAll(owner, part)));
  });
}

function countParts({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number {
  const perVerb = apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length;
  return verbs.length * perVerb;
}

function* partsOf(rule: PolicyRule): Generator<PolicyRule> {
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  for (const verb of rule.verbs) {
    for (const url of rule.nonResourceURLs) yield policyRule({ verbs: [verb], nonResourceURLs: [url] });
    for (const group of rule.apiGroups)
      for (const resource of rule.resources)
        for (const resourceNames of names)
          yield policyRule({ verbs: [verb], apiGroups: [group], resources: [resource], resourceNames });
  }
}

/** Undefined sets contain everything. */
interface Owner {
  readonly verbs: ReadonlySet<string> | undefined;
  readonly groups: ReadonlySet<string> | undefined;
  readonly resources: ReadonlySet<string> | undefined;
  readonly names: ReadonlySet<string> | undefined;
  readonly urls: readonly string[];
}

const ownerOf = (rule: PolicyRule): Owner => ({
  verbs: anyOrSet(rule.verbs),
  groups: anyOrSet(rule.apiGroups),
  resources: anyOrSet(rule.resources),
  names: rule.resourceNames.length === 0 ? undefined : new Set(rule.resourceNames),
  urls: rule.nonResourceURLs,
});

function coversAll(owner: Owner, rule: PolicyRule): boolean {
  if (!rule.verbs.every((verb) => owner.verbs === undefined || owner.verbs.has(verb))) return false;
  if (rule.nonResourceURLs.length * owner.urls.length > mostUrlPairs) return false;
  if (!rule.nonResourceURLs.every((url) => matchesPath(owner.urls, url))) return false;
  if (rule.apiGroups.length === 0 || rule.resources.length === 0) return true;
  if (!rule.apiGroups.every((group) => owner.groups === undefined || owner.groups.has(group))) return false;
  if (!rule.resources.every((resource) => hasResource(owner.resources, resource))) return false;
  if (owner.names === undefined) return true;
  const { names } = owner;
  return rule.resourceNames.length > 0 && rule.resourceNames.every((name) => names.has(name));
}

const mostUrlPairs = 10_000;

function hasResource(resources: ReadonlySet<string> | undefined, resource: string): boolean {
  if (resources === undefined || resources.has(resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && resources.has(`*${resource.slice(slash)}`);
}

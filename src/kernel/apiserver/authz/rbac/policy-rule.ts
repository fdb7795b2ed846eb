import type { JsonObject } from "#lib/base/index.ts";
import { listAt, objectsAt } from "#kernel/specs/index.ts";
import type { Access } from "../identity.ts";

// One rule of a role and what it matches: rbac/v1 PolicyRule. `*` stands for everything in every list but `resourceNames`.
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

/** A rule as a few words say it; what is left out is empty. */
export const policyRule = (rule: Partial<PolicyRule>): PolicyRule => ({
  verbs: rule.verbs ?? [],
  apiGroups: rule.apiGroups ?? [],
  resources: rule.resources ?? [],
  resourceNames: rule.resourceNames ?? [],
  nonResourceURLs: rule.nonResourceURLs ?? [],
});

/** The rules of a Role or ClusterRole; lists hold what is a text, whatever else a damaged object has. */
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

/** The rule as JSON of the API, without empty lists. */
export const ruleJson = (rule: PolicyRule): JsonObject =>
  Object.fromEntries(Object.entries(rule).filter(([, list]: readonly [string, readonly string[]]) => list.length > 0));

/** Rules made ready for questions. Immutable; made once per state of a role. */
export interface CompiledRules {
  readonly rules: readonly PolicyRule[];
  /** By verb, `*` among them; a rule stands under each of its verbs. */
  readonly byVerb: ReadonlyMap<string, readonly Matcher[]>;
}

/** Undefined sets match everything. */
interface Matcher {
  readonly groups: ReadonlySet<string> | undefined;
  readonly resources: ReadonlySet<string> | undefined;
  readonly names: ReadonlySet<string> | undefined;
  readonly urls: readonly string[];
}

/** O(rules × verbs). */
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
      const known = byVerb.get(verb);
      if (known === undefined) byVerb.set(verb, [matcher]);
      else known.push(matcher);
    }
  }
  return { rules, byVerb };
}

const anyOrSet = (values: readonly string[]): ReadonlySet<string> | undefined =>
  values.includes("*") ? undefined : new Set(values);

/** Whether one of the rules allows it. The namespace is not looked at: where a role counts is for its binding to say. */
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
  // A rule about paths has no groups and no resources: its empty sets match nothing.
  if (groups !== undefined && !groups.has(group)) return false;
  if (resources !== undefined && !resources.has(resource)) {
    const slash = resource.indexOf("/");
    if (slash < 0 || !resources.has(`*${resource.slice(slash)}`)) return false;
  }
  return names === undefined || (name !== undefined && names.has(name));
}

function matchesPath(urls: readonly string[], path: string): boolean {
  for (const url of urls) {
    if (url === "*" || url === path) return true;
    if (url.endsWith("*") && path.startsWith(url.slice(0, -1))) return true;
  }
  return false;
}

/**
 * The parts of `wanted` that `owned` does not give, one rule per verb, group and resource: what somebody lacks who wants to give
 * it to others. Kubernetes' rule: each such part must be covered whole by one of the owned rules.
 */
export function uncovered(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  return wanted.flatMap((rule) => [...partsOf(rule)]).filter((part) => !owned.some((rule) => coversPart(rule, part)));
}

/** A rule as rules of one verb, one group, one resource and one name each. Bounded by the size of an object. */
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

function coversPart(owner: PolicyRule, part: PolicyRule): boolean {
  const [verb = ""] = part.verbs;
  if (!owner.verbs.includes("*") && !owner.verbs.includes(verb)) return false;
  const [url] = part.nonResourceURLs;
  if (url !== undefined) return matchesPath(owner.nonResourceURLs, url);
  const [group = ""] = part.apiGroups;
  const [resource = ""] = part.resources;
  const [name] = part.resourceNames;
  if (!owner.apiGroups.includes("*") && !owner.apiGroups.includes(group)) return false;
  const slash = resource.indexOf("/");
  const isCovered =
    owner.resources.includes("*") ||
    owner.resources.includes(resource) ||
    (slash >= 0 && owner.resources.includes(`*${resource.slice(slash)}`));
  if (!isCovered) return false;
  return owner.resourceNames.length === 0 || (name !== undefined && owner.resourceNames.includes(name));
}

import { type JsonObject, objectsAt, textsAt } from "#lib/base/index.ts";
import type { App, Policy } from "../app.ts";

/** What rules select by. */
export interface RuleSubject {
  readonly component?: string;
  readonly componentType?: string;
  readonly role?: "WORKLOAD" | "TRAIT" | "POLICY";
  readonly trait?: string;
  readonly kind: string;
  readonly name: string;
}

/** The first rule of the policy whose selector matches: all lists that are given must contain the subject. */
export const ruleFor = (policy: Policy, subject: RuleSubject): JsonObject | undefined =>
  objectsAt(policy.properties, "rules").find(({ selector }) => isSelected(selector, subject));

function isSelected(selector: unknown, subject: RuleSubject): boolean {
  const lists = (name: string): readonly string[] => textsAt({ selector } as JsonObject, "selector", name);
  const given = (name: string, value: string | undefined): boolean => {
    const list = lists(name);
    return list.length === 0 || (value !== undefined && list.includes(value));
  };
  const oamTypes = lists("oamTypes");
  return (
    given("componentNames", subject.component) &&
    given("componentTypes", subject.componentType) &&
    (oamTypes.length === 0 || oamTypes.some((type) => isOamType(type, subject.role))) &&
    given("traitTypes", subject.trait) &&
    given("resourceTypes", subject.kind) &&
    given("resourceNames", subject.name)
  );
}

const isOamType = (type: string, role: RuleSubject["role"]): boolean =>
  role === "WORKLOAD" ? type === "COMPONENT" || type === "WORKLOAD" : role === "TRAIT" && type === "TRAIT";

export const policiesOfType = ({ policies }: Pick<App, "policies">, type: string): readonly Policy[] =>
  policies.filter((policy) => policy.type === type);

/** The first rule of any policy of the type. */
export function firstRule(app: Pick<App, "policies">, type: string, subject: RuleSubject): JsonObject | undefined {
  for (const policy of policiesOfType(app, type)) {
    const rule = ruleFor(policy, subject);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

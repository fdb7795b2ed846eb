import { nearest } from "#lib/text/index.ts";
import { below, type Reporter, type Spot } from "./diagnostics.ts";
import type { Member, Node } from "./node.ts";

export function warnUnknown(member: Member, scope: string, known: readonly string[], { warn }: Reporter): void {
  const meant = nearest(member.name, known);
  const hint = meant === undefined ? undefined : `did you mean "${meant}"?`;
  warn({ scope: below(scope, member.name), at: member.at }, "field-unknown", "there is no such field; it is ignored", {
    hint,
  });
}

/** Known members by name; `_` in old spellings is read as `-`. Unknown members are reported and left out. */
export function knownMembers(
  members: readonly Member[],
  scope: string,
  known: readonly string[],
  reporter: Reporter,
): ReadonlyMap<string, Member> {
  const found = new Map<string, Member>();
  for (const member of members) {
    const name = known.includes(member.name) ? member.name : member.name.replaceAll("_", "-");
    const spot = { scope: below(scope, member.name), at: member.at };
    const first = found.get(name);
    if (!known.includes(name)) warnUnknown(member, scope, known, reporter);
    else if (first !== undefined) {
      const related = [{ message: "it was given here", place: first.at }];
      reporter.error(spot, "key-duplicate", `"${name}" is given more than once; this one is ignored`, { related });
    } else {
      if (name !== member.name) reporter.warn(spot, "deprecated-key", `this spelling is old; write "${name}"`);
      found.set(name, member);
    }
  }
  return found;
}

export const reportMissing = (spot: Spot, name: string, { error }: Reporter): void =>
  error({ ...spot, scope: below(spot.scope, name) }, "field-required", `the field "${name}" is required`);

export const isEmpty = (node: Node): boolean =>
  (node.kind === "scalar" && node.tag === "string" && node.text === "") ||
  (node.kind === "list" && node.items.length === 0);

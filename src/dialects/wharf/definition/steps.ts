// A step is a map with one member: its type with its fields, as in `web: {docker: {file: Dockerfile, tag: latest}}`.

import { nearest } from "#lib/text/index.ts";
import type { Step, WrittenAt } from "./definition.ts";
import { below, type Reporter } from "./diagnostics.ts";
import { isEmpty, knownMembers, reportMissing } from "./fields.ts";
import { kindOf, type Member, type Node } from "./node.ts";
import { fieldsOf, isStepType, type StepType, stepTypes } from "./step-fields.ts";
import { checkStep } from "./step-rules.ts";
import { readBoolean, readText, readTextMap, readTexts, spotOf } from "./values.ts";

/** Undefined if it has no type, several types or misses required fields. Problems of all its types are reported. */
export function readStep({ name, at, value }: Member, stage: string, reporter: Reporter): Step | undefined {
  const scope = below(stage, name);
  if (value.kind !== "map") {
    const message = `expected map with the type of the step, found ${kindOf(value)}`;
    reporter.error(spotOf(scope, value), "type", message);
    return undefined;
  }
  if (value.members.length === 0) {
    reporter.error({ scope, at }, "step-empty", `a step needs a type: ${stepTypes.join(", ")}`);
    return undefined;
  }
  if (value.members.length > 1) {
    const found = value.members.map((member) => member.name).join(", ");
    reporter.error({ scope, at }, "step-multi", `a step has one type, found ${found.slice(0, 200)}`);
  }
  const steps = value.members.map((member) => readTyped(name, member, scope, reporter));
  return steps.length === 1 ? steps[0] : undefined;
}

function readTyped(name: string, member: Member, outer: string, reporter: Reporter): Step | undefined {
  const scope = below(outer, member.name);
  if (!isStepType(member.name)) {
    const meant = nearest(member.name, stepTypes, 4);
    const hint = meant === undefined ? `types are ${stepTypes.join(", ")}` : `did you mean "${meant}"?`;
    reporter.error({ scope, at: member.at }, "step-type-unknown", `"${member.name}" is no type of steps`, { hint });
    return undefined;
  }
  if (member.value.kind !== "map") {
    const message = `expected map with the fields of the step, found ${kindOf(member.value)}`;
    reporter.error(spotOf(scope, member.value), "type", message);
    return undefined;
  }
  const type = member.name;
  const members = knownMembers(member.value.members, scope, Object.keys(fieldsOf(type)), reporter);
  const { values, places } = readFields(type, members, { scope, at: member.at }, reporter);
  // Values were read by the table that the type is derived from.
  const step = { name, type, scope, at: member.at, values, places } as unknown as Step;
  checkStep(step, reporter);
  const isComplete = Object.entries(fieldsOf(type)).every(([field, { isRequired }]) => !isRequired || field in values);
  return isComplete ? step : undefined;
}

function readFields(
  type: StepType,
  members: ReadonlyMap<string, Member>,
  spot: { readonly scope: string; readonly at: Member["at"] },
  reporter: Reporter,
) {
  const values: Record<string, unknown> = {};
  const places = new Map<string, WrittenAt>();
  for (const [name, { kind, isRequired, initial }] of Object.entries(fieldsOf(type))) {
    const member = members.get(name);
    if (member === undefined) {
      if (isRequired) reportMissing(spot, name, reporter);
      if (initial !== undefined) values[name] = initial;
      continue;
    }
    const { value } = member;
    const scope = below(spot.scope, name);
    places.set(name, writtenAt(value));
    if (isRequired && isEmpty(value)) reportMissing({ ...spotOf(scope, value), scope: spot.scope }, name, reporter);
    const read = readers[kind](value, scope, reporter) ?? initial;
    if (read !== undefined) values[name] = read;
  }
  return { values, places };
}

function writtenAt(node: Node): WrittenAt {
  const { at } = node;
  if (node.kind === "list") return { at, items: node.items.map(writtenAt) };
  return node.kind === "scalar" && node.madeOf !== undefined ? { at, madeOf: node.madeOf } : { at };
}

const readers = { text: readText, boolean: readBoolean, texts: readTexts, map: readTextMap } as const;

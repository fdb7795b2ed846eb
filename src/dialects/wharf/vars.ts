import type { JsonValue } from "#lib/base/index.ts";
import { layOut, widthsOf } from "#kernel/dialect/index.ts";
import { createReporter, type Spot } from "./definition/diagnostics.ts";
import { printNode, valueOf } from "./definition/print.ts";
import { type MapNode, type Member, memberOf, type Node } from "./definition/node.ts";
import { reservedKeys } from "./definition/outline.ts";
import { asText } from "./definition/scalar.ts";
import { type Prepared, substitutedStages } from "./prepare.ts";
import { createSubstituter, isFailure } from "./variables/substitute.ts";
import { type ListedVariable, masked, maskVariables, sourceNames } from "./variables/variable.ts";

export function listText({ listed, unknown }: Listed, options: { readonly all: boolean }): string {
  const shown = listed.filter(({ isOverridden }) => options.all || !isOverridden);
  const widths = widthsOf(shown.map(cellsOf));
  const known = sourceNames.flatMap((source) => {
    const own = shown.filter(({ variable }) => variable.source === source);
    return own.length === 0 ? [] : [`${source}:`, ...own.map((item) => `  ${layOut(cellsOf(item), widths)}`)];
  });
  const names = [...unknown].map(([name, spots]) => `  ${layOut([name, placesOf(spots)], widths)}`);
  const missing = names.length === 0 ? [] : ["not set, left as written:", ...names];
  return [...known, ...missing].map((line) => `${line}\n`).join("");
}

type Listed = Pick<Prepared, "listed" | "unknown">;

function placesOf([first, ...more]: readonly Spot[]): string {
  const place = first?.at === undefined ? "" : `line ${first.at.line}, column ${first.at.column}`;
  return more.length === 0 ? place : `${place}, and ${more.length} more`;
}

const cellsOf = ({ variable, isOverridden }: ListedVariable): readonly string[] => [
  variable.name,
  variable.isSecret === true ? masked : variable.text,
  ...(isOverridden ? ["(overridden)"] : []),
];

export const listData = ({ listed, unknown }: Listed): JsonValue => [
  ...listed.map(dataOf),
  ...[...unknown].map(([name, spots]) => ({
    name,
    source: "none",
    usedAt: spots.flatMap(({ at }) => (at === undefined ? [] : [{ line: at.line, column: at.column }])),
  })),
];

function dataOf({ variable, isOverridden }: ListedVariable): JsonValue {
  const { name, source, tag, text, isSecret, definedAt } = variable;
  const place = definedAt && {
    ...(definedAt.file === undefined ? {} : { file: definedAt.file }),
    ...definedAt.place,
  };
  return {
    name,
    source,
    type: tag,
    value: isSecret === true ? masked : text,
    overridden: isOverridden,
    ...(place === undefined ? {} : { definedAt: place }),
  };
}

export function substituteText(
  { variables }: Prepared,
  text: string,
): { readonly text: string; readonly error?: string } {
  const result = createSubstituter(maskVariables(variables)).substitute(text);
  return isFailure(result) ? { text, error: result.message } : { text: result.scalar.text };
}

/** The definition with substituted stages. Inputs and environments stay as written, because they are substituted where
 * they are used. */
export function substitutedDefinition({ outline, variables }: Prepared) {
  if (outline === undefined) return undefined;
  const reporter = createReporter("");
  const substituter = createSubstituter(maskVariables(variables));
  const stages = substitutedStages(outline, { substituter, reporter, names: [] });
  const reserved = outline.root.members.filter(({ name }) => reservedKeys.includes(name));
  const node: MapNode = { ...outline.root, members: [...reserved.map(withoutPasswords), ...stages] };
  return { text: printNode(node), data: valueOf(node) };
}

function withoutPasswords(member: Member): Member {
  const { name, value } = member;
  if (name !== "inputs" || value.kind !== "list") return member;
  return { ...member, value: { ...value, items: value.items.map(withoutDefault) } };
}

function withoutDefault(input: Node): Node {
  if (input.kind !== "map") return input;
  const type = memberOf(input, "type")?.value;
  if (type?.kind !== "scalar" || type.text !== "password") return input;
  const members = input.members.map((member) =>
    member.name === "default"
      ? { ...member, value: { kind: "scalar", ...asText(masked), at: member.at } as const }
      : member,
  );
  return { ...input, members };
}

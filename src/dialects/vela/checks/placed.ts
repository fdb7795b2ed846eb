import {
  defined,
  type FieldPath,
  formatFieldPath,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  textAt,
} from "#lib/base/index.ts";
import { componentOf, groupType } from "../parse.ts";

/** A step as it is written, with its place. Its names have been filled in. */
export interface PlacedStep {
  readonly step: JsonObject;
  readonly path: FieldPath;
  readonly name: string;
  readonly type: string;
  readonly group?: PlacedStep;
  /** Place in the order of the document, sub-steps after their group. */
  readonly index: number;
}

/** Steps and sub-steps in order. Items that are no objects are left to the schema. */
export function placedSteps(steps: JsonValue | undefined, path: FieldPath): readonly PlacedStep[] {
  const all: PlacedStep[] = [];
  const add = (list: readonly JsonValue[], at: FieldPath, group?: PlacedStep): void => {
    for (const [index, step] of list.entries()) {
      if (!isJsonObject(step)) continue;
      const { name = "", type = "" } = { name: textAt(step, "name"), type: textAt(step, "type") };
      const here = [...at, index];
      const placed = { step, path: here, name, type, index: all.length, ...defined({ group }) };
      all.push(placed);
      if (group === undefined) add(listAt(step, "subSteps"), [...here, "subSteps"], placed);
    }
  };
  add(Array.isArray(steps) ? steps : [], path);
  return all;
}

export const isGroup = ({ type }: PlacedStep): boolean => type === groupType;

/** The component that a step applies, if it says so. */
export function appliedBy({ step, type }: PlacedStep): string | undefined {
  const { properties } = step;
  return isJsonObject(properties) ? componentOf({ type, properties }) : undefined;
}

/** A named item of a list. */
export interface Named {
  readonly name: string;
  readonly path: FieldPath;
}

/** Items whose name an earlier one has, and that one's path. */
export function repeated(items: readonly Named[]): readonly (Named & { readonly first: string })[] {
  const firstByName = new Map<string, FieldPath>();
  return items.flatMap((item) => {
    const first = firstByName.get(item.name);
    if (first === undefined) firstByName.set(item.name, item.path);
    return first === undefined || item.name === "" ? [] : [{ ...item, first: formatFieldPath(first) }];
  });
}

import { asJson, type KubeObject } from "#kernel/model/index.ts";
import { textAt } from "#lib/base/index.ts";

/** What a run was made from, where a field names it. */
export function sourceAt(
  object: KubeObject,
  kind: string,
  ...path: readonly string[]
): { readonly kind: string; readonly name: string } | undefined {
  const name = textAt(asJson(object), ...path);
  return name === undefined ? undefined : { kind, name };
}

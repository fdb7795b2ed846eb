import { isJsonObject, jsonEquals, type JsonValue } from "#lib/base/index.ts";
import { parseQuantity } from "#lib/text/index.ts";

// Servers may store an amount in other words than it was written in: `1000m` comes back as `1`. Comparing texts would write such an object
// again at every look.

/** Members whose values are amounts by name, in all kinds of Kubernetes. */
const amountMaps: ReadonlySet<string> = new Set(["requests", "limits", "capacity", "allocatable", "hard", "used"]);
/** Members that are amounts themselves. */
const amounts: ReadonlySet<string> = new Set(["sizeLimit", "divisor"]);

/**
 * Equal as JSON, but that amounts (quantities) are equal when they are the same amount. Without a schema, amounts are known by the names of
 * their members: elsewhere `1` and `1.0` are different texts.
 */
export const semanticEquals = (a: JsonValue | undefined, b: JsonValue | undefined): boolean =>
  jsonEquals(a, b) || differsInAmountsAlone(a, b, "no");

/** Whether a value is an amount, or holds amounts by name. */
type Role = "no" | "amount" | "amounts";

const roleOf = (name: string, parent: Role): Role => {
  if (parent === "amounts") return "amount";
  if (amountMaps.has(name)) return "amounts";
  return amounts.has(name) ? "amount" : "no";
};

function differsInAmountsAlone(a: JsonValue | undefined, b: JsonValue | undefined, role: Role): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, at) => differsInAmountsAlone(item, b[at], "no"));
  }
  if (isJsonObject(a) && isJsonObject(b)) {
    const names = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...names].every((name) => differsInAmountsAlone(a[name], b[name], roleOf(name, role)));
  }
  return jsonEquals(a, b) || (role === "amount" && isSameAmount(a, b));
}

function isSameAmount(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  const [one, other] = [a, b].map((value) =>
    typeof value === "string" || typeof value === "number" ? parseQuantity(String(value)) : undefined,
  );
  return one?.ok === true && other?.ok === true && one.value.nano === other.value.nano;
}

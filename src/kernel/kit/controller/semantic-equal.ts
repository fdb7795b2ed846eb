import { isJsonObject, jsonEquals, type JsonValue } from "#lib/base/index.ts";
import { parseQuantity } from "#lib/text/index.ts";

// Servers may store a quantity in other words: `1000m` comes back as `1`. Comparing texts would write such an object at
// every look.

/** Members whose values are quantities, in all kinds of Kubernetes. */
const amountMaps: ReadonlySet<string> = new Set(["requests", "limits", "capacity", "allocatable", "hard", "used"]);
const amounts: ReadonlySet<string> = new Set(["sizeLimit", "divisor"]);

/** JSON equality, except that quantities are compared as amounts. They are known by the names of their members. */
export const semanticEquals = (a: JsonValue | undefined, b: JsonValue | undefined): boolean =>
  jsonEquals(a, b) || differsInAmountsAlone(a, b, "no");

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

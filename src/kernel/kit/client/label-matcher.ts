import { getOrAdd } from "#lib/base/index.ts";
import { integerOf, type LabelRequirement, type Labels, type LabelSelector } from "./label-selector.ts";

interface Condition {
  isNeeded: boolean;
  /** The allowed values; all if absent, none if the label must not exist. */
  among?: ReadonlySet<string>;
  readonly except: Set<string>;
  above?: bigint;
  below?: bigint;
}

/** `matchesLabels` prepared for many objects: one look per label of an object, and one per required label. */
export function labelMatcher(selector: LabelSelector): (labels: Labels) => boolean {
  const conditions = new Map<string, Condition>();
  for (const requirement of selector) {
    const condition = getOrAdd(conditions, requirement.key, (): Condition => ({ isNeeded: false, except: new Set() }));
    narrow(condition, requirement);
  }
  const needed = [...conditions].filter(([, { isNeeded }]) => isNeeded).map(([key]) => key);
  return (labels = {}) => {
    for (const key of needed) if (!Object.hasOwn(labels, key)) return false;
    for (const key of Object.keys(labels)) {
      const condition = conditions.get(key);
      if (condition !== undefined && !admits(condition, labels[key] ?? "")) return false;
    }
    return true;
  };
}

function narrow(condition: Condition, requirement: LabelRequirement): void {
  const { operator } = requirement;
  condition.isNeeded ||= operator !== "NotIn" && operator !== "DoesNotExist";
  switch (operator) {
    case "In":
      condition.among = new Set(requirement.values.filter((value) => condition.among?.has(value) ?? true));
      break;
    case "NotIn":
      for (const value of requirement.values) condition.except.add(value);
      break;
    case "DoesNotExist":
      condition.among = new Set();
      break;
    case "Gt":
      condition.above = largest(condition.above ?? requirement.bound, requirement.bound);
      break;
    case "Lt":
      condition.below = -largest(-(condition.below ?? requirement.bound), -requirement.bound);
      break;
    case "Exists":
      break;
  }
}

const largest = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** For an object that has the label. */
function admits({ among, except, above, below }: Condition, value: string): boolean {
  if (among?.has(value) === false || except.has(value)) return false;
  if (above === undefined && below === undefined) return true;
  const number = integerOf(value);
  return number !== undefined && number > (above ?? number - 1n) && number < (below ?? number + 1n);
}

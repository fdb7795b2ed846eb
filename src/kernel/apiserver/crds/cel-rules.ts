import { err, isJsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import {
  type CelBindings,
  type CelEnvironment,
  type CelProblem,
  type CelProgram,
  compileExpression,
} from "#lib/cel/index.ts";
import type { CompileRule, RuleProblem } from "#lib/schema/index.ts";

/** What one evaluation of a rule may cost, in units of lib/cel. A rule that needs more refuses the object. */
const costLimit = 1_000_000;

// One object for all rules: preparing an environment is the expensive part.
const environment: CelEnvironment = { variables: { self: "dyn", oldSelf: "dyn" } };
/** `before` holds the old value, or nothing: what an optional `oldSelf` is made of. */
const optionalEnvironment: CelEnvironment = { variables: { self: "dyn", before: "list" } };

/** Libraries of newer API servers that are used like variables. */
const foreignLibrary = /\b(?:authorizer|base64|format|math|request|semver|sets)\s*\./;

/** Of a message that is made from the object; a longer one gives way to the fixed message. */
const longestMessageBytes = 5 * 1024;

/**
 * Compiles an `x-kubernetes-validations` rule (KEP-2876). Values are JSON: times and durations are texts, whatever
 * their format says. The program is true, or says why not, in this order: `messageExpression`, `message`, the rule
 * itself. A rule that fails to evaluate counts as false, as in Kubernetes. An error of kind "invalid" is no rule for
 * anyone; "unsupported" may be one elsewhere. A `messageExpression` that only this evaluator cannot compile is passed
 * over: the fixed message is always right.
 */
export const compileCelRule: CompileRule = (rule) => {
  const plain = compileBoolean(rule.rule, environment);
  if (!plain.ok) return plain;
  const usesOldSelf = plain.value.references.variables.some(({ root }) => root === "oldSelf");
  const isOptional = rule.optionalOldSelf === true;
  if (rule.optionalOldSelf !== undefined && !usesOldSelf)
    return invalid("may not be set if oldSelf is not used in rule", "optionalOldSelf");
  const program = isOptional ? compileBoolean(withOptional(rule.rule), optionalEnvironment) : plain;
  if (!program.ok) return program;
  const message = compileMessage(rule.messageExpression, isOptional);
  const messageProblem = problemOfMessage(message, rule.messageExpression ?? "");
  if (messageProblem !== undefined) return invalid(messageProblem, "messageExpression");
  const names = escapedNames(`${rule.rule} ${rule.messageExpression ?? ""}`);
  return ok({
    usesOldSelf,
    runsWithoutOldSelf: isOptional,
    evaluate(self, oldSelf, budget) {
      const old = oldSelf === undefined ? [] : [renameMembers(oldSelf, names)];
      const [known] = old;
      const bindings = {
        self: renameMembers(self, names),
        ...(isOptional ? { before: old } : known === undefined ? {} : { oldSelf: known }),
      };
      const before = budget.left;
      const outcome = program.value.evaluate(bindings, { costLimit, budget });
      const said = rule.message?.trim() || rule.rule.trim();
      if (!outcome.ok) {
        return before - budget.left > costLimit
          ? err({
              kind: "cost",
              message: `${outcome.error}: no further validation rules will be run after rule: ${said}`,
            })
          : err({ kind: "failed", message: `${outcome.error} evaluating rule: ${said}` });
      }
      if (outcome.value === true) return ok(true);
      const made = messageText(message, bindings, budget);
      return err({ kind: "refused", message: made ?? (rule.message?.trim() || `failed rule: ${said}`) });
    },
  });
};

/**
 * `oldSelf` as `optionalOldSelf` has it: an optional that is empty for a new value. The expression must be one by
 * itself.
 */
const withOptional = (expression: string): string => `cel.bind(oldSelf, before[?0], (${expression}\n))`;

function compileMessage(
  expression: string | undefined,
  isOptional: boolean,
): Result<CelProgram, CelProblem> | undefined {
  if (expression === undefined) return undefined;
  const plain = compileExpression(expression, environment);
  return plain.ok && isOptional ? compileExpression(withOptional(expression), optionalEnvironment) : plain;
}

/** A rule whose type is known only when it runs is let through; what it then gives must be true. */
function compileBoolean(source: string, environment: CelEnvironment): Result<CelProgram, RuleProblem> {
  const program = compileExpression(source, environment);
  if (!program.ok) return err(problemOf(program.error, source));
  const { resultType } = program.value;
  return resultType === "bool" || resultType === "dyn"
    ? program
    : err({ kind: "invalid", message: `must be true or false, and is a ${resultType}` });
}

/** What this evaluator does not know, a real API server may: only what cannot be a rule is refused. */
function problemOf({ kind, message }: CelProblem, source: string): RuleProblem {
  const isForeign = kind === "unknown-variable" && foreignLibrary.test(source);
  const isInvalid = kind === "syntax" || (kind === "unknown-variable" && !isForeign);
  return { kind: isInvalid ? "invalid" : "unsupported", message };
}

const invalid = (message: string, part: NonNullable<RuleProblem["part"]>): Result<never, RuleProblem> =>
  err({ kind: "invalid", message, part });

/** What no evaluator could make a text of. */
function problemOfMessage(message: Result<CelProgram, CelProblem> | undefined, source: string): string | undefined {
  if (message === undefined) return undefined;
  if (!message.ok) {
    const problem = problemOf(message.error, source);
    return problem.kind === "invalid" ? problem.message : undefined;
  }
  const { resultType } = message.value;
  return resultType === "string" || resultType === "dyn" ? undefined : `must be a text, and is a ${resultType}`;
}

/**
 * A message made from the object. One that fails, is blank, too long or of several lines gives way to the rule's fixed
 * message, as in Kubernetes.
 */
function messageText(
  message: Result<CelProgram, CelProblem> | undefined,
  bindings: CelBindings,
  budget: { left: number },
): string | undefined {
  const made = message?.ok === true ? message.value.evaluate(bindings, { costLimit, budget }) : undefined;
  const text = made?.ok === true && typeof made.value === "string" ? made.value.trim() : "";
  return text === "" || text.includes("\n") || Buffer.byteLength(text) > longestMessageBytes ? undefined : text;
}

// CEL can only select members whose names are identifiers and no words of the language. Kubernetes lets rules name the
// others by escaping them; this evaluator works on plain JSON, so the members are renamed before a rule sees the value.

const identifier = /[A-Za-z_][A-Za-z0-9_]*/g;
/** What stands for what in a rule, in Kubernetes' notation. */
const escapes: Readonly<Record<string, string>> = {
  __underscores__: "__",
  __dot__: ".",
  __dash__: "-",
  __slash__: "/",
};
/** Words of CEL, which are escaped as a whole: `__namespace__`. */
const reserved = new Set(
  "as break const continue else false for function if import in let loop package namespace null return true var void while".split(
    " ",
  ),
);

/**
 * Names in a rule that stand for members whose own names are no identifiers: `my__dash__field` for `my-field`,
 * `__namespace__` for `namespace`. From the member's name to the one the rule uses.
 */
export function escapedNames(rule: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [word] of rule.matchAll(identifier)) {
    const name = unescape(word);
    if (name !== word) names.set(name, word);
  }
  return names;
}

/** The name a word of a rule stands for; a word without escapes, known or not, stands for itself. */
function unescape(word: string): string {
  const inner = /^__([a-z]+)__$/.exec(word)?.[1];
  if (inner !== undefined && reserved.has(inner)) return inner;
  return word.replace(/__(?:underscores|dot|dash|slash)__/g, (escape) => escapes[escape] ?? escape);
}

/**
 * The value as such a rule sees it: with those members renamed, wherever they are. A copy, or the value itself when the
 * rule has no such names, which is nearly always. O(size of the value). Keys of maps are renamed as well: a rule that
 * names one key both ways (`self.labels['a-b']` and `self.a__dash__b`) finds it by the escaped name only.
 */
export function renameMembers(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (names.size === 0) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => renameMembers(item, names));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      names.get(name) ?? name,
      member === undefined ? undefined : renameMembers(member, names),
    ]),
  );
}

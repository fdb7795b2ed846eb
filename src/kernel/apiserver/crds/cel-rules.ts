import { err, isJsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import {
  type CelBindings,
  type CelEnvironment,
  type CelProblem,
  type CelProgram,
  compileExpression,
} from "#lib/cel/index.ts";
import type { CompileRule, RuleProblem } from "#lib/schema/index.ts";

/** Limit of one evaluation in units of lib/cel; beyond it the object is refused. */
const costLimit = 1_000_000;

// One object for all rules: preparing an environment is the expensive part.
const environment: CelEnvironment = { variables: { self: "dyn", oldSelf: "dyn" } };
/** `before` holds the old value or nothing, for an optional `oldSelf`. */
const optionalEnvironment: CelEnvironment = { variables: { self: "dyn", before: "list" } };

/** Libraries of newer API servers that are used like variables. */
const foreignLibrary = /\b(?:authorizer|base64|format|math|request|semver|sets)\s*\./;

/** Longer generated messages are replaced by the fixed one. */
const longestMessageBytes = 5 * 1024;

/** Compiles a rule (KEP-2876). "unsupported" ones may be valid elsewhere; a failing rule counts as false. */
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

/** An `oldSelf` for `optionalOldSelf`: an optional that is empty for a new value. */
const withOptional = (expression: string): string => `cel.bind(oldSelf, before[?0], (${expression}\n))`;

function compileMessage(
  expression: string | undefined,
  isOptional: boolean,
): Result<CelProgram, CelProblem> | undefined {
  if (expression === undefined) return undefined;
  const plain = compileExpression(expression, environment);
  return plain.ok && isOptional ? compileExpression(withOptional(expression), optionalEnvironment) : plain;
}

/** A rule of unknown type is allowed; its result must be true. */
function compileBoolean(source: string, environment: CelEnvironment): Result<CelProgram, RuleProblem> {
  const program = compileExpression(source, environment);
  if (!program.ok) return err(problemOf(program.error, source));
  const { resultType } = program.value;
  return resultType === "bool" || resultType === "dyn"
    ? program
    : err({ kind: "invalid", message: `must be true or false, and is a ${resultType}` });
}

/** A newer API server may support more, so only certain errors are refused. */
function problemOf({ kind, message }: CelProblem, source: string): RuleProblem {
  const isForeign = kind === "unknown-variable" && foreignLibrary.test(source);
  const isInvalid = kind === "syntax" || (kind === "unknown-variable" && !isForeign);
  return { kind: isInvalid ? "invalid" : "unsupported", message };
}

const invalid = (message: string, part: NonNullable<RuleProblem["part"]>): Result<never, RuleProblem> =>
  err({ kind: "invalid", message, part });

/** Refuses what can never be a text. */
function problemOfMessage(message: Result<CelProgram, CelProblem> | undefined, source: string): string | undefined {
  if (message === undefined) return undefined;
  if (!message.ok) {
    const problem = problemOf(message.error, source);
    return problem.kind === "invalid" ? problem.message : undefined;
  }
  const { resultType } = message.value;
  return resultType === "string" || resultType === "dyn" ? undefined : `must be a text, and is a ${resultType}`;
}

/** Falls back to the fixed message if it fails, is blank, too long or has several lines, as in Kubernetes. */
function messageText(
  message: Result<CelProgram, CelProblem> | undefined,
  bindings: CelBindings,
  budget: { left: number },
): string | undefined {
  const made = message?.ok === true ? message.value.evaluate(bindings, { costLimit, budget }) : undefined;
  const text = made?.ok === true && typeof made.value === "string" ? made.value.trim() : "";
  return text === "" || text.includes("\n") || Buffer.byteLength(text) > longestMessageBytes ? undefined : text;
}

// Kubernetes escapes names that are not CEL identifiers; here the members are renamed before a rule sees the value.

const identifier = /[A-Za-z_][A-Za-z0-9_]*/g;
/** Kubernetes' escape sequences. */
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

/** The escaped names in a rule, such as `my__dash__field`, by member name (`my-field`). */
export function escapedNames(rule: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [word] of rule.matchAll(identifier)) {
    const name = unescape(word);
    if (name !== word) names.set(name, word);
  }
  return names;
}

/** Words without escapes stay. */
function unescape(word: string): string {
  const inner = /^__([a-z]+)__$/.exec(word)?.[1];
  if (inner !== undefined && reserved.has(inner)) return inner;
  return word.replace(/__(?:underscores|dot|dash|slash)__/g, (escape) => escapes[escape] ?? escape);
}

/** A copy with escaped members, or the value itself without such names. O(size); map keys change too. */
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

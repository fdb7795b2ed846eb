/** A failure of disk, network or another program. `code` is declared in the folder's `errors.ts`; `hint` is advice. */
export class SlipwayError extends Error {
  override readonly name = "SlipwayError";
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }
}

export const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
export const messageOf = (thrown: unknown): string => toError(thrown).message;

/** A message without the code, system call and path that Node adds: `no such file or directory`. */
export const reasonOf = (thrown: unknown): string =>
  messageOf(thrown).replace(/^E[A-Z0-9]+: (.+?), [a-z]+\b.*$/s, "$1");

/** `code` of a Node system error or a SlipwayError. */
export function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}

/** Whether something thrown has one of these codes. */
export const hasCode =
  (...codes: readonly string[]) =>
  (thrown: unknown): boolean =>
    codes.includes(codeOf(thrown) ?? "");

/** For `catch`: returns `value` in place of what `isExpected`, and throws anything else. */
export const recover =
  <T>(isExpected: (thrown: unknown) => boolean, value: T) =>
  (thrown: unknown): T => {
    if (isExpected(thrown)) return value;
    throw thrown;
  };

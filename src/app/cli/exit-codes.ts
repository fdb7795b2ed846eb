/** How a command ended, for scripts. Signals end with 130 and 143. */
export const exitCode = { succeeded: 0, failed: 1, usage: 2, canceled: 3, deadline: 4 } as const;

/** A command's refusal of its arguments or documents: printed as it is, ends with `exitCode.usage`. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** Ends the command with a code after everything that a person should read was printed. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

import type { StepEnd } from "./step-runtime.ts";

/** The failure of a step without a program's end; its reason is for programs. */
export class StepFailure extends Error {
  readonly reason: string;
  readonly exitCode: number | null;

  constructor(reason: string, message: string, exitCode: number | null = null) {
    super(message);
    this.reason = reason;
    this.exitCode = exitCode;
  }

  get end(): StepEnd {
    return { status: "Failed", exitCode: this.exitCode, reason: this.reason, message: this.message };
  }
}

import type { StepEnd } from "./step-runtime.ts";

/** Why a step has failed that came to no end of its own: it is thrown to where the end of the step is made. */
export class StepFailure extends Error {
  /** A word for programs: `ImagePull`, `RuntimeLost`, … */
  readonly reason: string;
  /** What a shell would say, where there is such a thing. */
  readonly exitCode: number | null;

  constructor(reason: string, message: string, exitCode: number | null = null) {
    super(message);
    this.reason = reason;
    this.exitCode = exitCode;
  }

  /** The end that the step has come to by it. */
  get end(): StepEnd {
    return { status: "Failed", exitCode: this.exitCode, reason: this.reason, message: this.message };
  }
}

export interface ThreadStart {
  readonly artifact: string;
  /** Compiled by an earlier thread; without it this thread compiles and sends its own. */
  readonly module: WebAssembly.Module | undefined;
}

/** Ready once, then one answer per question. A question is sent as plain JSON. */
export type ThreadMessage = ThreadReady | ThreadAnswer;

export interface ThreadReady {
  readonly kind: "ready";
  readonly module: WebAssembly.Module | undefined;
  /** The operating system's id of the thread; absent where it cannot be found. */
  readonly taskId: string | undefined;
}

/** After any other kind than `answer` the thread is unusable. */
export type ThreadAnswer =
  | { readonly kind: "answer"; readonly text: string; readonly memoryBytes: number }
  | { readonly kind: "out-of-memory" }
  | { readonly kind: "crashed"; readonly message: string };

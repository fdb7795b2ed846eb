/** What the thread is started with. */
export interface ThreadStart {
  /** The compressed module, as a file. */
  readonly artifact: string;
  /** The same, compiled by a thread before; without it the thread compiles and hands over what it has. */
  readonly module: WebAssembly.Module | undefined;
}

/** What the thread says: that it is ready, once, then one answer to each question. A question is JSON, and asked alone. */
export type ThreadMessage = { readonly kind: "ready"; readonly module: WebAssembly.Module | undefined } | ThreadAnswer;

/** After any other than `answer` the thread is of no more use. */
export type ThreadAnswer =
  | { readonly kind: "answer"; readonly text: string; readonly memoryBytes: number }
  | { readonly kind: "out-of-memory" }
  | { readonly kind: "crashed"; readonly message: string };

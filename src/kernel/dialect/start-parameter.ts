/** What a form asks for: arguments of a run, or values that are given along with an approval. */
export interface StartParameter {
  readonly name: string;
  readonly description?: string;
  readonly type?: "string" | "number" | "boolean";
  readonly default?: string;
  readonly options?: readonly string[];
  readonly isRequired: boolean;
}

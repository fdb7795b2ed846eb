export interface DefOptions {
  readonly output?: "cue" | "yaml" | "json";
  readonly type?: string;
  readonly write?: boolean;
  readonly print?: boolean;
}

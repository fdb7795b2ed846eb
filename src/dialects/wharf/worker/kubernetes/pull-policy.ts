export type PullPolicy = "always" | "missing" | "never";

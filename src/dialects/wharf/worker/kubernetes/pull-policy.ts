/** When the image of a step is fetched: each time, when the node does not have it, or not at all. */
export type PullPolicy = "always" | "missing" | "never";

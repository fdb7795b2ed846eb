/** The Kubernetes minor whose rules this server follows. */
const major = "1";
const minor = "33";

/**
 * The body of `/version`; a kubectl chooses and warns by it (more than one minor apart). `gitVersion` must be a semantic version with
 * a `v`; Slipway's own is its build part: `v1.33.0+slipway.0.1.0`. Fields that mean nothing here are there, because Go clients read them.
 */
export const versionInfo = (slipwayVersion: string): Readonly<Record<string, string>> => ({
  major,
  minor,
  gitVersion: `v${major}.${minor}.0+slipway.${slipwayVersion}`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "node",
  platform: `${process.platform}/${process.arch}`,
});

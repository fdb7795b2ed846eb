import type { Instant } from "#lib/base/index.ts";

export interface RepositoryEntry {
  readonly path: string;
  readonly kind: "file" | "link" | "directory";
  readonly mode: number;
  readonly modified: Instant;
  readonly size: number;
  readonly target?: string;
  readonly source?: string;
}

export interface OverlayFile {
  readonly path: string;
  readonly bytes: Buffer;
  readonly mode: number;
}

export interface RepositoryWarning {
  readonly code: "no-git" | "not-copied";
  readonly message: string;
}

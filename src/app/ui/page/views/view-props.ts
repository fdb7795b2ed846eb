/** What a page is given. */
export interface ViewProps {
  /** Of the names in the route's pattern, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

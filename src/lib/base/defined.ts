type Optional<T> = { readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };
type Present<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] };

/** The members that have a value, where an absent member must not be an undefined one. A shallow copy in order. */
export const defined = <T extends object>(members: T): Present<T> & Optional<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<T> & Optional<T>;

/** Escapes `$(NAME)` and `$$` for Kubernetes. */
export const literal = (text: string): string => text.replaceAll(/\$(?=[$(])/g, "$$$$");

/** The forest as plain lists: every question walks all links ever made. Takes only events that are possible. */
export class OracleForest {
  readonly entries: { step: number; cluster: number; position: number }[] = [];
  readonly unites: { absorbed: number; root: number; position: number }[] = [];

  enter(step: number, cluster: number, position: number): void {
    this.entries.push({ step, cluster, position });
  }

  unite(absorbed: number, root: number, position: number): void {
    this.unites.push({ absorbed, root, position });
  }

  themeRoots(position: number): number[] {
    const absorbed = this.unites.filter((unite) => unite.position <= position).map((unite) => unite.absorbed);
    return this.entries
      .filter(({ step, cluster, position: at }) => step === cluster && at <= position && !absorbed.includes(step))
      .map(({ step }) => step);
  }

  /** Every cluster root from which links lead to `root`, itself included. */
  clustersUnder(root: number, position: number): Set<number> {
    const under = new Set([root]);
    for (let size = 0; size < under.size; ) {
      size = under.size;
      for (const unite of this.unites)
        if (unite.position <= position && under.has(unite.root)) under.add(unite.absorbed);
    }
    return under;
  }

  /** In order of entering. */
  stepsOfTheme(root: number, position: number): number[] {
    const under = this.clustersUnder(root, position);
    return this.entries
      .filter(({ cluster, position: at }) => under.has(cluster) && at <= position)
      .map(({ step }) => step);
  }
}

export function Table({ head, rows }: { head: string[]; rows: preact.ComponentChildren[][] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={head.join(", ")}>
      <table class="table">
        <thead>
          <tr>
            {head.map((cell) => (
              <th key={cell} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, index) => (
            <tr key={index}>
              {cells.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

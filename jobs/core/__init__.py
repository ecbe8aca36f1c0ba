"""What every room of jobs shares: values, machines, plans and durable files."""
